#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/upload_ring.hpp"
#include "cxx/nwchem/operand_store.hpp"

namespace trifuse::gpu {

/// The memory of the current device that recorded tasks may use.
class MemoryBudget {
 public:
  /// `limit`: memory limit, bytes; nullopt: the free memory.
  explicit MemoryBudget(std::optional<std::int64_t> limit) : limit_(limit) {}
  /// Reserves memory. Must be called before the allocation. `bytes`: its size. `what`: its purpose, for the message.
  /// Throws DeviceMemoryError if the limit or the free memory is too small.
  void take(std::size_t bytes, const char* what);
  /// Cancels all reservations. The memory must be free again.
  void give_all_back() { taken_ = 0; }

 private:
  std::optional<std::int64_t> limit_;
  std::int64_t taken_ = 0;
};

/// Stores the operands of a recorded task in the memory of the current device. Operands pass through a ring of pinned
/// buffers. The ring is small enough for the caches of a processor. The caller waits only for the copy into the ring;
/// the transfer to the device goes on meanwhile. The device memory grows to the size of the largest task and stays
/// allocated until `release`.
class DeviceOperands final : public OperandStore {
 public:
  /// `stream`: stream of the transfers. `budget`: where all device memory is reserved. Both must outlive this object.
  DeviceOperands(const Stream& stream, MemoryBudget& budget) : stream_(stream), budget_(budget) {}

  /// Copies numbers, see OperandStore. Returns a device address. The numbers are there when the stream has executed the
  /// copies that `flush` starts.
  const double* add_copy(std::span<const double> numbers) override;
  std::vector<double> fetch(const double* copy, std::size_t count) override;
  void clear() override;
  /// Starts the transfer of all numbers that still wait in the ring.
  void flush() { ring_.flush(stream_); }
  /// Frees the device memory. The store must be empty, see `clear`.
  void release() { segments_.clear(); }

 private:
  static constexpr std::int64_t slot_bytes = std::int64_t{1} << 20, slots = 4;
  static constexpr std::size_t least_segment = std::size_t{1} << 23;  ///< doubles

  const Stream& stream_;
  MemoryBudget& budget_;
  UploadRing ring_{slot_bytes, slots, false};
  std::vector<DeviceArray<double>> segments_;
  std::size_t segment_ = 0, used_ = 0;  ///< destination of the next operand: segment, doubles before it
};

}
