#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/nwchem/operand_store.hpp"

namespace trifuse::gpu {

/// What recorded tasks may take of the current device's memory.
class MemoryBudget {
 public:
  /// `limit` in bytes; default: what is free.
  explicit MemoryBudget(std::optional<std::int64_t> limit) : limit_(limit) {}
  /// Before `bytes` are asked for. Throws DeviceMemoryError where they are not there; `what` says what they are for.
  void take(std::size_t bytes, const char* what);
  /// After all that was taken has been freed.
  void give_all_back() { taken_ = 0; }

 private:
  std::optional<std::int64_t> limit_;
  std::int64_t taken_ = 0;
};

/// Operands of a recorded task on their way to the current device. They pass through a small ring of pinned buffers,
/// small enough for the caches of a processor: copying into it is what the caller waits for, the bus works meanwhile.
/// Memory on the device grows to what the largest task needs, and is kept until it is released.
class DeviceOperands final : public OperandStore {
 public:
  DeviceOperands(const Stream& stream, MemoryBudget& budget) : stream_(stream), budget_(budget) {}

  /// A place on the device, which holds the numbers once the stream has done what `flush` asks for.
  const double* keep(std::span<const double> numbers) override;
  std::vector<double> fetch(const double* copy, std::size_t count) override;
  void clear() override;
  void flush();
  /// Frees the memory; there are no copies.
  void release() { segments_.clear(); }

 private:
  static constexpr std::size_t slot_doubles = std::size_t{1} << 17;  ///< 1 MiB
  static constexpr std::size_t least_segment = std::size_t{1} << 23;
  struct Slot {
    PinnedArray<double> host{slot_doubles};
    Event free{cudaEventDisableTiming};
  };

  const Stream& stream_;
  MemoryBudget& budget_;
  std::vector<Slot> ring_ = std::vector<Slot>(4);
  std::size_t slot_ = 0, filled_ = 0;  ///< doubles that wait in the slot at hand
  std::vector<DeviceArray<double>> segments_;
  std::size_t segment_ = 0, used_ = 0;  ///< where the next operand goes
};

}  // namespace trifuse::gpu
