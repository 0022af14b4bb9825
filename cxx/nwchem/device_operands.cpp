#include "cxx/nwchem/device_operands.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    flush();  // the next segment may follow at once in memory, but no copy may reach into two of them
    ++segment_;
    used_ = 0;
  }
  if (segment_ == segments_.size()) {
    const std::size_t size = std::max(count, least_segment);
    budget_.take(size * sizeof(double), "The operands");
    segments_.emplace_back(size);
  }
  double* const place = segments_[segment_].data() + used_;
  ring_.send(place, numbers.data(), std::ssize(numbers), stream_);
  used_ += count;
  return place;
}

std::vector<double> DeviceOperands::fetch(const double* copy, std::size_t count) {
  flush();
  std::vector<double> numbers(count);
  TRIFUSE_CUDA(cudaMemcpyAsync(numbers.data(), copy, count * sizeof(double), cudaMemcpyDeviceToHost, stream_));
  TRIFUSE_CUDA(cudaStreamSynchronize(stream_));
  return numbers;
}

void DeviceOperands::clear() {
  ring_.discard();
  segment_ = used_ = 0;
}

}
