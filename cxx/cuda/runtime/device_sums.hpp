#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "cxx/base/spares.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/plan/complete_sums.hpp"

namespace trifuse::gpu {

/// Sums that stay on a GPU. The host reads what it needs.
class DeviceSums final : public CompleteSums {
 public:
  /// `device`: number of the GPU. `sums`: its memory.
  DeviceSums(int device, DeviceArray<unsigned long long> sums) : device_(device), sums_(std::move(sums)) {}
  /// Adds `count` integers of another GPU to the first ones. `from`: memory of GPU `device`. `received`: memory of this
  /// GPU for so many of them as come at once, at least one.
  void add(const unsigned long long* from, int device, std::int64_t count,
           const DeviceArray<unsigned long long>& received);
  /// How many should come at once: 16 MiB.
  static constexpr std::int64_t usual_part = std::int64_t{2} << 20;
  void read(std::span<const Piece> pieces, std::size_t size,
            const std::function<void(std::span<const double>)>& use) const override;
  void get(std::size_t first, std::span<std::int64_t> elements) const override;
  void set(std::size_t first, std::span<const std::int64_t> elements) override;

 private:
  /// What a call of read() needs. There are at most 16, however many threads call it: more do not make the bus faster.
  struct Reader {
    std::optional<Stream> stream;  ///< absent before the first use
    DeviceArray<double> values;
    PinnedArray<double> on_host;
  };

  /// Calls `action` with the GPU as the current one, and turns its failure into an Error for callers who have no other
  /// GPU.
  template <typename Action>
  void on_gpu(Action action) const;

  const int device_;
  const DeviceArray<unsigned long long> sums_;
  mutable Spares<Reader> readers_{16};
};

}
