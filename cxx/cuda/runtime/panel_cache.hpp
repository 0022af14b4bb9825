#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/base/least_recently_used.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/panel_provider.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/panel_source.hpp"
#include "cxx/cuda/schedule/task_program.hpp"

namespace trifuse::gpu {

/// The packed panels on one device, under a budget of memory. Panels may have different operand formats.
///
/// A panel is produced when it is first acquired, by the first provider that provides it. It stays until its memory is
/// needed; then panels that are not in use are evicted, the least recently used first. Panels are produced on a stream
/// of their own, so kernels run meanwhile.
///
/// Workers may call prefetch(), acquire(), release(), statistics() and produced_by() concurrently. In load_owned(),
/// acquire() and statistics() the cache's device must be the current one.
class PanelCache {
 public:
  using Providers = std::vector<std::shared_ptr<PanelProvider>>;
  struct Statistics {
    std::int64_t wanted = 0;      ///< panels acquired
    std::int64_t owned = 0;       ///< panels that load_owned() loaded
    std::int64_t evicted = 0;     ///< panels dropped to make room
    std::int64_t max_bytes = 0;   ///< largest amount of panels on the device
    double seconds_copies = 0.0;  ///< production of panels for tasks, on the device
  };

  /// Makes a cache for the current device. It takes memory for panels at the first load_owned() or acquire(). `tiles`:
  /// the tiles of the panels; must stay valid. `bytes`: budget for panels. `providers`: in the order in which they are
  /// asked; together they provide every panel.
  PanelCache(const TileSpace& tiles, SpinFormulation formulation, std::int64_t bytes, Providers providers);

  /// Loads the owned panels into an allocation of their own, in the order of `names` and without gaps, and keeps them
  /// to the end. The memory for other panels shrinks accordingly. Returns when the panels are there. Must be called
  /// before acquire(), at most once.
  void load_owned(std::span<const PanelName> names);
  /// Returns the begin of the owned panels, in device memory.
  const std::byte* owned_memory() const { return owned_.data(); }

  /// Announces that a panel will be acquired soon. If it is not on the device, its provider may prepare it meanwhile.
  void prefetch(const PanelName& name) const;
  /// Makes all panels of `names`, which must have no repetitions, present on the device. They stay there until
  /// release() of the same list. Work that is put on `consumer` later waits for panels that are still on their way.
  /// Writes the panels' addresses to `pointers`, in the order of `names`.
  ///
  /// Waits while other workers use too much of the memory. Returns false if the list alone is too large. If it throws,
  /// no panel of the list is in use.
  bool acquire(std::span<const PanelName> names, std::vector<const std::byte*>& pointers, cudaStream_t consumer);
  /// Ends the use of acquired panels. The kernels that read them must have finished.
  void release(std::span<const PanelName> names);

  Statistics statistics() const;
  /// Returns what a provider has produced so far. Works for a device that has failed, too.
  ProducedPanels produced_by(const PanelProvider& provider) const;
  std::int64_t capacity() const { return capacity_; }  ///< bytes, owned panels included
  /// Returns the number of bytes of exported memory for owned panels.
  std::int64_t owned_bytes() const { return static_cast<std::int64_t>(owned_.size()); }
  /// Returns the number of bytes of device memory that a panel takes.
  std::int64_t bytes_of(const PanelName& name) const;

 private:
  /// Reserves memory for the panels of `names` that are missing and marks all panels as in use. Returns false and marks
  /// nothing if there is not enough memory. `offsets`: [name] offset in the arena. `missing`: indices of the missing
  /// panels in `names`.
  bool reserve(std::span<const PanelName> names, std::vector<std::int64_t>& offsets, std::vector<std::size_t>& missing,
               std::unique_lock<std::mutex>& lock);
  /// Evicts the least recently used panel that no list uses. Returns false if there is none.
  bool evict();
  /// Allocates `bytes` in the arena; evicts panels or waits for other workers if needed. Returns false if all panels in
  /// use belong to the caller.
  bool make_room(std::int64_t bytes, std::int64_t& offset, std::unique_lock<std::mutex>& lock);
  /// Returns the device address of an offset of a panel.
  std::byte* address(std::int64_t offset) const;
  /// Produces the missing panels of a reserved list, and makes `consumer` wait for all panels of the list.
  void produce_missing(std::span<const PanelName> names, const std::vector<std::int64_t>& offsets,
                       const std::vector<std::size_t>& missing, cudaStream_t consumer);
  /// Produces one panel at device address `to`. `provider`: index of its provider.
  void produce(const PanelName& name, std::size_t provider, std::byte* to, bool owned);
  /// Announces panels to their providers. Returns the indices of the providers, in the order of `names`.
  std::vector<std::size_t> choose_providers(std::span<const PanelName> names) const;

  const TileSpace& tiles_;
  SpinFormulation formulation_;
  Providers providers_;
  PanelSourceList sources_;  ///< the same providers; what they have produced is guarded by `state_`
  std::int64_t capacity_;
  Arena arena_;
  DeviceArray<std::byte> memory_;   ///< memory of the arena
  ExportedArray<std::byte> owned_;  ///< owned panels
  mutable std::mutex state_;        ///< guards entries, arena and statistics
  std::mutex acquiring_;            ///< held by the worker that acquires panels
  std::condition_variable released_;
  /// Offsets of panels in the arena; owned panels lie behind its end. A panel has one pin for each list that uses it.
  /// An owned panel has one more pin, which is never removed.
  LeastRecentlyUsed<PanelName, std::int64_t, PanelName::Hash> panels_;
  int leases_ = 0;  ///< lists that are acquired
  Statistics statistics_;

  Stream stream_;
  Event ready_{cudaEventDisableTiming};
  Event copies_begin_, copies_end_;
  bool copies_timed_ = false;
};

}
