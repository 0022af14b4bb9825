#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cuda/device_memory.hpp"
#include "cxx/nwchem/operand_store.hpp"

namespace trifuse::gpu {

/// Operands of a recorded task on their way to the current device. They pass through a small ring of pinned buffers,
/// small enough for the caches of a processor: copying into it is what the caller waits for, the bus works meanwhile.
/// Memory on the device grows to what the largest task needs and is kept.
class DeviceOperands final : public OperandStore {
 public:
  explicit DeviceOperands(const Stream& stream) : stream_(stream) {}

  /// A place on the device, which holds the numbers once the stream has done what `flush` asks for.
  const double* keep(std::span<const double> numbers) override;
  void clear() override;
  void flush();

 private:
  static constexpr std::size_t slot_doubles = std::size_t{1} << 17;  ///< 1 MiB
  static constexpr std::size_t least_segment = std::size_t{1} << 23;
  struct Slot {
    PinnedArray<double> host{slot_doubles};
    Event free{cudaEventDisableTiming};
  };

  const Stream& stream_;
  std::vector<Slot> ring_ = std::vector<Slot>(4);
  std::size_t slot_ = 0, filled_ = 0;  ///< doubles that wait in the slot at hand
  std::vector<DeviceArray<double>> segments_;
  std::size_t segment_ = 0, used_ = 0;  ///< where the next operand goes
};

/// Throws UsageError where the current device has less than `bytes` free; `what` says what they are for.
void check_free_memory(std::size_t bytes, const char* what);

}  // namespace trifuse::gpu
