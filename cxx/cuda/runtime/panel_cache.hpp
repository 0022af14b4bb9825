#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/base/least_recently_used.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/panel_owner_map.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse::gpu {

/// The packed panels on one device, under a budget of memory.
///
/// A panel is sent when it is first acquired. It stays until its memory is needed; then panels that are not in use are
/// evicted, the least recently used first. Panels go through a ring of pinned buffers and are packed on the device.
/// This happens on a stream of its own, so kernels run meanwhile. Panels that a peer owns are copied from the peer's
/// memory.
///
/// Workers may call prefetch(), acquire(), release() and statistics() concurrently. In load_owned(), acquire() and
/// statistics() the cache's device must be the current one.
class PanelCache {
 public:
  struct Statistics {
    std::int64_t wanted = 0;      ///< panels acquired
    std::int64_t sent = 0;        ///< of these, sent from the host
    std::int64_t from_peers = 0;  ///< of these, copied from peers
    std::int64_t owned = 0;       ///< panels that load_owned() sent
    std::int64_t evicted = 0;     ///< panels dropped to make room
    std::int64_t bytes_sent = 0;  ///< host to device
    std::int64_t bytes_from_peers = 0;
    std::int64_t max_bytes = 0;   ///< largest amount of panels on the device
    double seconds_copies = 0.0;  ///< copies and packing, on the device
  };

  /// Belongs to the current device. Takes memory for panels at the first load_owned() or acquire(). `host`: must stay
  /// valid. `bytes`: budget for panels. `slot_bytes`: size of each pinned buffer, at least least_slot_bytes().
  PanelCache(const PanelStore& host, SpinFormulation formulation, std::int64_t bytes, std::int64_t slot_bytes);

  /// Sends the owned panels into an allocation of their own, in the order of `names` and without gaps, and keeps them
  /// to the end. The memory for other panels shrinks accordingly. Returns when the panels are there. Must be called
  /// before acquire(), at most once.
  void load_owned(std::span<const PanelName> names);
  /// The begin of the owned panels, in device memory.
  const char* owned_memory() const { return owned_.data(); }
  /// From now on, panels that peers own are copied from their memory. `memory_of_owner` [owner]: the owner's
  /// owned_memory(), as this device sees it; null if it cannot read it. `owners`: null if there are no peers any more.
  /// No worker may acquire panels meanwhile.
  void set_peers(std::shared_ptr<const PanelOwnerMap> owners, std::vector<const char*> memory_of_owner);

  /// Announces that a panel will be acquired soon. If it is neither on the device nor in this process, it is fetched
  /// from the other process meanwhile.
  void prefetch(const PanelName& name) const;
  /// Makes all panels of `names`, which has no repetitions, present on the device. They stay there until release() of
  /// the same list. Work that is put on `consumer` later waits for panels that are still on their way. Writes the
  /// panels' addresses to `pointers`, in the order of `names`.
  ///
  /// Waits while other workers use too much of the memory. Returns false if the list alone is too large. If it throws,
  /// no panel of the list is in use.
  bool acquire(std::span<const PanelName> names, std::vector<const double*>& pointers, cudaStream_t consumer);
  /// Ends the use of acquired panels. The kernels that read them must have finished.
  void release(std::span<const PanelName> names);

  Statistics statistics() const;
  std::int64_t bytes_from_peers() const;               ///< works for a device that has failed, too
  std::int64_t capacity() const { return capacity_; }  ///< bytes, owned panels included
  /// Bytes of device memory that a panel takes.
  std::int64_t bytes_of(const PanelName& name) const;

  static constexpr int slots = 3;  ///< pinned buffers
  /// The smallest pinned buffer, in bytes, through which every panel of a tile space can be sent in parts.
  static std::int64_t least_slot_bytes(const TileSpace& space, SpinFormulation formulation);

 private:
  struct Hash {
    std::size_t operator()(const PanelName& name) const;
  };
  /// A panel in the host's memory. It stays there as long as this object.
  struct HostPanel {
    Panel panel;
    Packing packing;
    std::int64_t row_doubles;  ///< doubles of the last row that are read
  };
  HostPanel host_panel(const PanelName& name) const;
  /// Reserves memory for the panels of `names` that are missing and marks all panels as in use. Returns false and
  /// marks nothing if there is not enough memory. `offsets` [name]: in the arena. `missing`: indices of `names`.
  bool reserve(std::span<const PanelName> names, std::vector<std::int64_t>& offsets, std::vector<std::size_t>& missing,
               std::unique_lock<std::mutex>& lock);
  /// Evicts the least recently used panel that no list uses. Returns false if there is none.
  bool evict();
  /// Allocates `bytes` in the arena; evicts panels or waits for other workers if needed. Returns false if all panels in
  /// use belong to the caller.
  bool make_room(std::int64_t bytes, std::int64_t& offset, std::unique_lock<std::mutex>& lock);
  /// The device address of an offset of a panel.
  double* address(std::int64_t offset) const;
  /// Sends the missing panels of a reserved list, and makes `consumer` wait for all panels of the list.
  void send_missing(std::span<const PanelName> names, const std::vector<std::int64_t>& offsets,
                    const std::vector<std::size_t>& missing, cudaStream_t consumer);
  /// Sends one panel from the host to device address `to`, packed.
  void send(const PanelName& name, double* to);
  /// Copies one packed panel from the memory of a peer.
  void copy(const PanelName& name, const char* from, double* to);
  /// The address of a panel in the memory of the peer that owns it; null if there is none.
  const char* at_peer(const PanelName& name) const;

  const PanelStore& host_;
  SpinFormulation formulation_;
  std::shared_ptr<const PanelOwnerMap> owners_;
  std::vector<const char*> memory_of_owner_;
  std::int64_t capacity_;
  Arena arena_;
  DeviceArray<char> memory_, owned_;  ///< of the arena, of owned panels
  mutable std::mutex state_;          ///< guards entries, arena and statistics
  std::mutex acquiring_;              ///< held by the worker that acquires panels
  std::condition_variable released_;
  /// Offsets of panels in the arena; owned panels lie behind its end. One pin for each list that uses the panel, and
  /// one to the end for an owned panel.
  LeastRecentlyUsed<PanelName, std::int64_t, Hash> panels_;
  int leases_ = 0;  ///< lists that are acquired
  Statistics statistics_;

  Stream stream_;
  /// A pinned buffer, and a device buffer for the same part of a panel before it is packed.
  struct Slot {
    PinnedArray<double> host;
    DeviceArray<double> device;
    Event free{cudaEventDisableTiming};  ///< passes when the part has been packed
  };
  std::vector<Slot> ring_;
  std::size_t next_slot_ = 0;
  Event ready_{cudaEventDisableTiming};
  Event copies_begin_, copies_end_;
  bool copies_timed_ = false;
};

}  // namespace trifuse::gpu
