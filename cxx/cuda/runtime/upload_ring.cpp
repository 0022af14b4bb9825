#include "cxx/cuda/runtime/upload_ring.hpp"

#include <algorithm>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse::gpu {

namespace {

/// Calls `copy`(begin, end) for parts of [0, count), on several threads if there are many doubles. A single thread is
/// slower than the bus: it copies about 3 GB/s of memory that other threads wrote.
template <typename Copy>
void in_parts(std::int64_t count, std::int64_t doubles, Copy copy) {
  constexpr std::int64_t share = std::int64_t{1} << 18;  // doubles
  const auto parts = std::clamp<std::int64_t>(doubles / share, 1, 12);
  on_new_threads(static_cast<std::size_t>(parts), [&](std::size_t n) {
    const std::int64_t part = static_cast<std::int64_t>(n);
    copy(count * part / parts, count * (part + 1) / parts);
  });
}

void copy_to_pinned(double* to, const double* from, std::int64_t doubles) {
  in_parts(doubles, doubles,
           [&](std::int64_t begin, std::int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

}

UploadRing::UploadRing(std::int64_t slot_bytes, std::int64_t slots, bool stages) {
  for (std::int64_t n = 0; n < slots; ++n) {
    const auto doubles = static_cast<std::size_t>(slot_bytes) / sizeof(double);
    ring_.push_back({PinnedArray<double>(doubles), DeviceArray<double>(stages ? doubles : 0),
                     Event(cudaEventDisableTiming), Event(cudaEventDisableTiming)});
  }
}

std::int64_t UploadRing::make_room(std::int64_t doubles) {
  constexpr std::int64_t alignment = 32;  // doubles
  std::int64_t offset = (used_ + alignment - 1) / alignment * alignment;
  if (offset + doubles > room()) {
    current_ = (current_ + 1) % ring_.size();
    TRIFUSE_CUDA(cudaEventSynchronize(ring_[current_].free));
    offset = 0;
  }
  used_ = offset + doubles;
  return offset;
}

const double* UploadRing::stage(const double* from, std::int64_t doubles, cudaStream_t stream) {
  const std::int64_t offset = make_room(doubles);
  const Slot& slot = ring_[current_];
  double* const pinned = slot.host.data() + offset;
  double* const to = slot.device.data() + offset;
  copy_to_pinned(pinned, from, doubles);
  TRIFUSE_CUDA(
      cudaMemcpyAsync(to, pinned, static_cast<std::size_t>(doubles) * sizeof(double), cudaMemcpyHostToDevice, copies_));
  TRIFUSE_CUDA(cudaEventRecord(slot.copied, copies_));
  TRIFUSE_CUDA(cudaStreamWaitEvent(stream, slot.copied));
  return to;
}

void UploadRing::release(cudaStream_t stream) {
  TRIFUSE_CUDA(cudaEventRecord(ring_[current_].free, stream));
}

void UploadRing::send_rows(double* to, const double* from, std::int64_t rows, std::int64_t length, std::int64_t stride,
                           cudaStream_t stream) {
  const std::int64_t step = std::max<std::int64_t>(1, room() / stride);
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first);
    const std::int64_t offset = make_room(count * stride);
    double* const pinned = ring_[current_].host.data() + offset;
    in_parts(count, count * stride, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const double* const source = from + (first + row) * length;
        std::fill(std::copy(source, source + length, pinned + row * stride), pinned + (row + 1) * stride, 0.0);
      }
    });
    TRIFUSE_CUDA(cudaMemcpyAsync(to + first * stride, pinned, static_cast<std::size_t>(count * stride) * sizeof(double),
                                 cudaMemcpyHostToDevice, stream));
    release(stream);
  }
}

void UploadRing::send(double* to, const double* from, std::int64_t doubles, cudaStream_t stream) {
  while (doubles > 0) {
    if (to != waiting_end_ || used_ == room()) {
      flush(stream);
      used_ = make_room(1);
    }
    const std::int64_t part = std::min(doubles, room() - used_);
    copy_to_pinned(ring_[current_].host.data() + used_, from, part);
    used_ += part;
    waiting_ += part;
    waiting_end_ = to += part;
    from += part;
    doubles -= part;
  }
  if (used_ == room()) flush(stream);
}

void UploadRing::flush(cudaStream_t stream) {
  if (waiting_ > 0) {
    TRIFUSE_CUDA(cudaMemcpyAsync(waiting_end_ - waiting_, ring_[current_].host.data() + used_ - waiting_,
                                 static_cast<std::size_t>(waiting_) * sizeof(double), cudaMemcpyHostToDevice, stream));
    release(stream);
  }
  discard();
}

}
