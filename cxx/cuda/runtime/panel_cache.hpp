#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/panel_homes.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panels.hpp"

namespace trifuse::gpu {

/// Packed panels on one device, under a budget. A panel is sent when it is first asked for and stays until its room is
/// needed by others; those used longest ago go first, those in use never. Panels pass through a ring of pinned buffers
/// and are packed on the device, on a stream of their own, so kernels go on meanwhile. Those that a neighbour keeps
/// packed are copied from there.
class PanelCache {
 public:
  struct Statistics {
    std::int64_t wanted = 0, sent = 0, from_neighbours = 0, kept = 0, evicted = 0;  ///< panels
    std::int64_t bytes_sent = 0, bytes_from_neighbours = 0, most_bytes = 0;
    double seconds_copies = 0.0;
  };

  /// Belongs to the current device, of which it takes its memory when panels are kept or first acquired. `slot_bytes`:
  /// of a pinned buffer, see `least_slot_bytes`.
  PanelCache(const PanelStore& host, SpinFormulation formulation, std::int64_t bytes, std::int64_t slot_bytes);

  /// Sends these panels, before any others, into memory of their own, one right after another from `kept_memory` on,
  /// and keeps them there to the end. They are there when it returns. The others have so much less.
  void keep(std::span<const PanelName> names);
  const char* kept_memory() const { return kept_.data(); }
  /// From now on panels at home elsewhere come from there. `memory_of_home`: where the first panel of each home lies,
  /// as this device sees it; null where it cannot. Nobody acquires panels meanwhile.
  void set_neighbours(std::shared_ptr<const PanelHomes> homes, std::vector<const char*> memory_of_home);

  /// Says that a panel will be acquired soon: where it is neither here nor in this process it is fetched meanwhile.
  void ask(const PanelName& name) const;
  /// Makes all panels of a list, without repetitions, present and keeps them until they are released. `consumer` waits
  /// for those on their way. Waits while others hold too much; returns false where the list alone is too large. Where
  /// it throws, nothing of the list is held.
  bool acquire(std::span<const PanelName> names, std::vector<const double*>& pointers, cudaStream_t consumer);
  void release(std::span<const PanelName> names);

  Statistics statistics() const;
  std::int64_t bytes_from_neighbours() const;  ///< also of a device that has failed
  std::int64_t capacity() const { return capacity_; }
  /// Bytes that a panel takes.
  std::int64_t bytes_of(const PanelName& name) const;

  static constexpr int slots = 3;
  /// Smallest pinned buffer that can carry every panel of a tile space in pieces.
  static std::int64_t least_slot_bytes(const TileSpace& space, SpinFormulation formulation);

 private:
  struct Entry {
    std::int64_t offset = 0;  ///< in the arena; of one that is kept, behind its end
    int users = 0;
    std::int64_t last_use = 0;
  };
  /// A panel in the host's memory, where it stays while this lives.
  struct HostPanel {
    Panel panel;
    Packing packing;
    std::int64_t inner_rows;  ///< doubles that are read of the last row
  };
  HostPanel host_panel(const PanelName& name) const;
  void ask_host(const PanelName& name) const;
  /// Finds room for what is missing of a list and marks the list as in use, or leaves everything as it was.
  bool reserve(std::span<const PanelName> names, std::vector<std::int64_t>& offsets, std::vector<std::size_t>& missing,
               std::unique_lock<std::mutex>& lock);
  void drop_unused();
  bool make_room(std::int64_t bytes, std::int64_t& offset, std::unique_lock<std::mutex>& lock);
  double* place(std::int64_t offset) const;
  /// Sends what is missing of a list that has its places, and lets `consumer` wait for all of it.
  void send_missing(std::span<const PanelName> names, const std::vector<std::int64_t>& offsets,
                    const std::vector<std::size_t>& missing, cudaStream_t consumer);
  void send(const PanelName& name, double* to);
  void copy(const PanelName& name, const char* from, double* to);
  /// Where a neighbour has it, or null.
  const char* at_neighbour(const PanelName& name) const;

  const PanelStore& host_;
  SpinFormulation formulation_;
  std::shared_ptr<const PanelHomes> homes_;
  std::vector<const char*> memory_of_home_;
  std::int64_t capacity_;
  Arena arena_;
  DeviceArray<char> memory_, kept_;
  mutable std::mutex state_;
  std::mutex acquiring_;
  std::condition_variable released_;
  std::map<PanelName, Entry> entries_;
  int leases_ = 0;
  std::int64_t clock_ = 0;
  Statistics statistics_;

  Stream stream_;
  struct Slot {
    PinnedArray<double> host;
    DeviceArray<double> device;
    Event free{cudaEventDisableTiming};
  };
  std::vector<Slot> ring_;
  std::size_t next_slot_ = 0;
  Event ready_{cudaEventDisableTiming};
  Event copies_begin_, copies_end_;
  bool copies_timed_ = false;
};

}  // namespace trifuse::gpu
