#include "cxx/nwchem/device_operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"

namespace trifuse::gpu {

void MemoryBudget::take(std::size_t bytes, const char* what) {
  // Memory that is left to the driver, bytes.
  constexpr std::int64_t reserve = std::int64_t{64} << 20;
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (limit_ && wanted > *limit_ - taken_) {
    throw DeviceMemoryError(
        fmt::format("{} of a task need {} more on the GPU, but only {} of the allowed {} are left; allow "
                    "more memory, or give a smaller tile size.",
                    what, format_bytes(static_cast<double>(wanted)),
                    format_bytes(static_cast<double>(*limit_ - taken_)), format_bytes(static_cast<double>(*limit_))));
  }
  const DeviceMemoryState memory = device_memory_now();
  if (wanted + reserve > memory.free) {
    throw DeviceMemoryError(
        fmt::format("{} of a task need {} more on the GPU, but only {} of its {} are free; give a smaller "
                    "tile size, or let fewer processes share the GPU.",
                    what, format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(memory.free)),
                    format_bytes(static_cast<double>(memory.total))));
  }
  taken_ += wanted;
}

const double* DeviceOperands::add_copy(std::span<const double> numbers) {
  const std::size_t count = numbers.size();
  while (segment_ < segments_.size() && segments_[segment_].size() - used_ < count) {
    flush();
    ++segment_;
    used_ = 0;
  }
  if (segment_ == segments_.size()) {
    const std::size_t size = std::max(count, least_segment);
    budget_.take(size * sizeof(double), "The operands");
    segments_.emplace_back(size);
  }
  const double* place = segments_[segment_].data() + used_;
  while (!numbers.empty()) {
    Slot& slot = ring_[slot_];
    if (filled_ == 0) TRIFUSE_CUDA(cudaEventSynchronize(slot.free));
    const std::size_t part = std::min(numbers.size(), slot_doubles - filled_);
    std::memcpy(slot.host.data() + filled_, numbers.data(), part * sizeof(double));
    filled_ += part;
    used_ += part;
    numbers = numbers.subspan(part);
    if (filled_ == slot_doubles) flush();
  }
  return place;
}

std::vector<double> DeviceOperands::fetch(const double* copy, std::size_t count) {
  flush();
  std::vector<double> numbers(count);
  TRIFUSE_CUDA(cudaMemcpyAsync(numbers.data(), copy, count * sizeof(double), cudaMemcpyDeviceToHost, stream_));
  TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
  return numbers;
}

void DeviceOperands::flush() {
  if (filled_ == 0) return;
  Slot& slot = ring_[slot_];
  TRIFUSE_CUDA(cudaMemcpyAsync(segments_[segment_].data() + used_ - filled_, slot.host.data(), filled_ * sizeof(double),
                               cudaMemcpyHostToDevice, stream_));
  TRIFUSE_CUDA(cudaEventRecord(slot.free, stream_));
  slot_ = (slot_ + 1) % ring_.size();
  filled_ = 0;
}

void DeviceOperands::clear() {
  filled_ = 0;
  segment_ = used_ = 0;
}

}
