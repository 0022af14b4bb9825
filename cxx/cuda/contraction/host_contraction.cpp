#include "cxx/cuda/contraction/host_contraction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/contraction/packed_tensor.hpp"
#include "cxx/cuda/contraction/gpu_contraction.hpp"
#include "cxx/cuda/runtime/current_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse::contraction {

namespace {

using trifuse::gpu::CurrentDevice;
using trifuse::gpu::DeviceArray;
using trifuse::gpu::Event;
using trifuse::gpu::PinnedArray;
using trifuse::gpu::Stream;

/// Elements that are copied at once between a GPU and the host.
constexpr std::int64_t part_elements = std::int64_t{1} << 22;

std::size_t bytes_of(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(double);
}

/// A pinned buffer.
struct Buffer {
  PinnedArray<double> memory;
  Event copied{cudaEventDisableTiming};  ///< passes when the last copy from or to the buffer has ended
};
using Buffers = std::array<Buffer, 3>;

/// Waits until a buffer is free, and gives it room.
Buffer& free_buffer(Buffers& buffers, std::int64_t part, std::int64_t elements) {
  Buffer& buffer = buffers[static_cast<std::size_t>(part) % buffers.size()];
  TRIFUSE_CUDA(cudaEventSynchronize(buffer.copied));
  buffer.memory.reserve(static_cast<std::size_t>(elements));
  return buffer;
}

/// Copies of a result to the host. The first ones start at once, the rest while others are unpacked.
class Download {
 public:
  /// `from`: the packed tensor on the GPU. `to`: the tensor in the host's memory, at offset 0.
  Download(const PackedTensor& tensor, const double* from, double* to, Buffers& buffers, cudaStream_t stream)
      : tensor_(tensor), from_(from), to_(to), buffers_(buffers), stream_(stream) {
    const auto first = std::min<std::int64_t>(tensor.parts(), std::ssize(buffers));
    for (std::int64_t part = 0; part < first; ++part) start(part);
  }

  /// Waits for the copies and adds them to beta C.
  void finish(double beta, int threads) {
    for (std::int64_t part = 0; part < tensor_.parts(); ++part) {
      const double* const numbers = free_buffer(buffers_, part, 0).memory.data();
      tensor_.add(part, numbers, beta, to_, threads);
      if (part + std::ssize(buffers_) < tensor_.parts()) start(part + std::ssize(buffers_));
    }
  }

 private:
  void start(std::int64_t part) {
    const std::int64_t size = tensor_.size(part);
    const Buffer& buffer = free_buffer(buffers_, part, size);
    TRIFUSE_CUDA(cudaMemcpyAsync(buffer.memory.data(), from_ + tensor_.begin(part), bytes_of(size),
                                 cudaMemcpyDeviceToHost, stream_));
    TRIFUSE_CUDA(cudaEventRecord(buffer.copied, stream_));
  }

  PackedTensor tensor_;
  const double* from_;
  double* to_;
  Buffers& buffers_;
  cudaStream_t stream_;
};

/// The factors and the tensors of a run.
struct Numbers {
  double alpha;
  std::array<const double*, 2> operands;  ///< A and B
  double beta;
  double* c;
};

/// The work of one GPU, which is the current one of the thread.
class Worker {
 public:
  Worker(const Slices& slices, const Numbers& numbers, int device, int threads)
      : slices_(slices), numbers_(numbers), device_(device), threads_(threads) {
    const Contraction largest = slices.slice(0, 0).contraction;
    const auto places = [&](Tensor t) { return slices.cuts_tensor(t) ? std::size_t{2} : std::size_t{1}; };
    const auto size = [&](Tensor t) { return static_cast<std::size_t>(elements(largest, t)); };
    for (const Tensor t : {A, B}) {
      for (Place& place : operands_[t] = std::vector<Place>(places(t))) place.memory.reserve(size(t));
    }
    results_ = std::vector<DeviceArray<double>>(places(C));
    for (DeviceArray<double>& result : results_) result.reserve(size(C));
  }

  /// Puts the slices of a series on the GPU, and finishes the series before.
  void compute(std::int64_t series) {
    double* const result = results_[turn_++ % results_.size()].data();
    for (std::int64_t n = 0; n < slices_.length(); ++n) {
      const Slice slice = slices_.slice(series, n);
      const Place &a = bring(A, slice), &b = bring(B, slice);
      for (const Place* const place : {&a, &b}) TRIFUSE_CUDA(cudaStreamWaitEvent(computing_, place->copied));
      planned(packed(slice.contraction))
          .start(numbers_.alpha, a.memory.data(), b.memory.data(), slice.accumulates ? 1.0 : 0.0, result, computing_);
      for (const Place* const place : {&a, &b}) TRIFUSE_CUDA(cudaEventRecord(place->used, computing_));
      if (n == 0) finish();
    }
    TRIFUSE_CUDA(cudaEventRecord(computed_, computing_));
    TRIFUSE_CUDA(cudaStreamWaitEvent(downloads_, computed_));
    const Slice slice = slices_.slice(series, 0);
    pending_.emplace(PackedTensor(slice.contraction, C, part_elements), result, numbers_.c + slice.offset[C],
                     result_buffers_, downloads_);
  }

  /// Waits for the last series and stores its result.
  void finish() {
    if (pending_) pending_->finish(numbers_.beta, threads_);
    pending_.reset();
  }

 private:
  /// Room for a slice of an operand.
  struct Place {
    DeviceArray<double> memory;
    std::vector<std::int64_t> holds;       ///< offset and extents of the slice; empty: none
    Event copied{cudaEventDisableTiming};  ///< passes when the slice is there
    Event used{cudaEventDisableTiming};    ///< passes when the work that reads it has ended
  };

  /// Starts to copy a slice of an operand, unless the GPU has it.
  Place& bring(Tensor t, const Slice& slice) {
    std::vector<std::int64_t> wanted = {slice.offset[t]};
    for (const Index& index : slice.contraction.indices) {
      if (in_tensor(index, t)) wanted.push_back(index.extent);
    }
    std::vector<Place>& places = operands_[t];
    auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) { return place.holds == wanted; });
    const bool there = found != places.end();
    if (!there) found = places.begin();
    std::rotate(found, found + 1, places.end());  // the last place is the one that was used last
    Place& place = places.back();
    if (there) return place;
    place.holds = std::move(wanted);
    TRIFUSE_CUDA(cudaStreamWaitEvent(uploads_, place.used));
    const PackedTensor tensor(slice.contraction, t, part_elements);
    for (std::int64_t part = 0; part < tensor.parts(); ++part) {
      const std::int64_t size = tensor.size(part);
      const Buffer& buffer = free_buffer(operand_buffers_, next_buffer_++, size);
      tensor.pack(part, numbers_.operands[t] + slice.offset[t], buffer.memory.data(), threads_);
      TRIFUSE_CUDA(cudaMemcpyAsync(place.memory.data() + tensor.begin(part), buffer.memory.data(), bytes_of(size),
                                   cudaMemcpyHostToDevice, uploads_));
      TRIFUSE_CUDA(cudaEventRecord(buffer.copied, uploads_));
    }
    TRIFUSE_CUDA(cudaEventRecord(place.copied, uploads_));
    return place;
  }

  GpuContraction& planned(const Contraction& contraction) {
    for (auto& [known, plan] : planned_) {
      if (known == contraction) return plan;
    }
    return planned_.emplace_back(contraction, GpuContraction(contraction, device_)).second;
  }

  const Slices& slices_;
  const Numbers& numbers_;
  int device_, threads_;
  std::array<std::vector<Place>, 2> operands_;  ///< [A, B][place]
  std::vector<DeviceArray<double>> results_;    ///< places of C, used in turns
  std::size_t turn_ = 0;
  std::vector<std::pair<Contraction, GpuContraction>> planned_;
  Buffers operand_buffers_, result_buffers_;
  std::int64_t next_buffer_ = 0;
  Event computed_{cudaEventDisableTiming};
  std::optional<Download> pending_;
  // These wait for their work when they are destroyed, before the memory is.
  Stream uploads_, computing_, downloads_;
};

/// Calls `body(n)` for each device on a thread of its own, whose current device it is.
template <typename Body>
void on_devices(const std::vector<int>& devices, const Body& body) {
  // The calling thread keeps its current device, so it makes no call.
  on_new_threads(devices.size() + 1, [&](std::size_t n) {
    if (n == 0) return;
    const CurrentDevice current(devices[n - 1]);
    body(n - 1);
  });
}

std::int64_t memory_for_tensors(const std::vector<int>& devices) {
  std::vector<std::int64_t> free(devices.size());
  on_devices(devices, [&](std::size_t n) { free[n] = free_device_memory(devices[n]); });
  // The rest is for partial sums.
  return *std::min_element(free.begin(), free.end()) / 8 * 7;
}

}

HostContraction::HostContraction(const Contraction& contraction, std::vector<int> devices, std::int64_t memory,
                                 int threads)
    : slices_(slices_for_memory(canonical_form(contraction), memory > 0 ? memory : memory_for_tensors(devices))),
      devices_(std::move(devices)),
      threads_(threads) {}

void HostContraction::run(double alpha, const double* a, const double* b, double beta, double* c) const {
  const Contraction& contraction = slices_.contraction();
  if (alpha == 0.0 || contraction.empty_result() || contraction.empty_sum()) {
    return CpuContraction(contraction, threads_).run(0.0, a, b, beta, c);
  }
  const Numbers numbers{alpha, {a, b}, beta, c};
  const int threads = std::max(1, threads_ / static_cast<int>(devices_.size()));
  std::atomic<std::int64_t> next{0};
  on_devices(devices_, [&](std::size_t n) {
    try {
      Worker worker(slices_, numbers, devices_[n], threads);
      for (std::int64_t series = next++; series < slices_.series(); series = next++) worker.compute(series);
      worker.finish();
    } catch (const DeviceMemoryError&) {
      next = slices_.series();  // the others need not go on
      throw DeviceMemoryError(fmt::format(
          "GPU {} or the host has too little free memory for a contraction whose slices take {:.2f} GB of the "
          "GPU; give a smaller limit of memory.",
          devices_[n], bytes_on_device(slices_) * 1e-9));
    } catch (...) {
      next = slices_.series();
      throw;
    }
  });
}

std::string HostContraction::text() const {
  return fmt::format("{}; {} {}", slices_.text(), devices_.size(), devices_.size() == 1 ? "GPU" : "GPUs");
}

}
