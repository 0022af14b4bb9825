#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// A ring of pinned buffers through which operands go from the host's memory to a device. Small copies share a buffer.
/// Packing may wait until a kernel ends. Meanwhile copies go on while buffers are free.
///
/// One worker at a time may use a ring, always with the same stream. It may change the stream when all work on the old
/// one has ended.
class UploadRing {
 public:
  /// Belongs to the current device. `slot_bytes`: size of each pinned buffer, PanelDemand::slot. `slots`: their number.
  /// `stages`: false if stage() will not be called; the ring then has no device memory.
  UploadRing(std::int64_t slot_bytes, std::int64_t slots, bool stages = true);

  /// Returns the number of doubles that one buffer holds.
  std::int64_t room() const { return static_cast<std::int64_t>(ring_.front().host.size()); }
  /// Starts a copy of at most room() doubles, for which later work on `stream` waits. Returns the device memory that
  /// receives them. It belongs to the caller until release(), which must follow before the next copy.
  const double* stage(const double* from, std::int64_t doubles, cudaStream_t stream);
  /// Ends the use of the memory that stage() returned last. Only work that is already on `stream` may read it.
  void release(cudaStream_t stream);
  /// Puts a copy of any number of rows to the device address `to` on `stream`. `from`: rows of `length` doubles without
  /// gaps. `stride`: doubles from one row to the next on the device, at most room(); the copy leaves zeros between
  /// rows.
  void send_rows(double* to, const double* from, std::int64_t rows, std::int64_t length, std::int64_t stride,
                 cudaStream_t stream);
  /// Puts a copy of any number of doubles to the device address `to` on `stream`. The copy, or a part of it, waits for
  /// others that follow it on the device, until a buffer is full or until flush(). No other copy, and none to
  /// another allocation, may come before flush().
  void send(double* to, const double* from, std::int64_t doubles, cudaStream_t stream);
  /// Puts copies that still wait on `stream`.
  void flush(cudaStream_t stream);
  /// Drops copies that still wait.
  void discard() {
    waiting_ = 0;
    waiting_end_ = nullptr;
  }

 private:
  /// A pinned buffer, and a device buffer for operands that are packed on the device.
  struct Slot {
    PinnedArray<double> host;
    DeviceArray<double> device;
    Event free{cudaEventDisableTiming};    ///< passes when the last use of both buffers has ended
    Event copied{cudaEventDisableTiming};  ///< passes when the last copy to the device buffer has ended
  };

  /// Finds room for `doubles` in the current slot, or in the next one after its last use has ended. Returns the offset
  /// in the slot, which is the current one afterwards.
  std::int64_t make_room(std::int64_t doubles);

  std::vector<Slot> ring_;
  Stream copies_;  ///< for copies to device buffers of the ring
  std::size_t current_ = 0;
  std::int64_t used_ = 0;          ///< doubles of the current slot
  std::int64_t waiting_ = 0;       ///< of these, the last ones wait for their copy
  double* waiting_end_ = nullptr;  ///< the end of the device memory that will receive them
};

}
