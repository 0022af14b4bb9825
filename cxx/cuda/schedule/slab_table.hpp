#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/base/least_recently_used.hpp"
#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse::gpu {

/// The slabs of factors in a range of device memory: which slabs are there, and where. Knows offsets only, no memory.
class SlabTable {
 public:
  struct Wanted {
    PanelKey key;
    std::int64_t bytes;  ///< always the same for one key
  };
  struct Place {
    std::int64_t offset;  ///< in the range, bytes
    bool missing;         ///< true: the slab is not there yet, and the caller must bring it
  };

  /// `bytes`: size of the range.
  explicit SlabTable(std::int64_t bytes) : arena_(bytes) {}

  /// Finds places for the slabs of a list, which are used together. If there is no room, drops other slabs, the least
  /// recently used first. Returns the places in the order of the list. Throws Error if the list alone is too large.
  ///
  /// `slabs`: without repetitions. A place is valid until the next call.
  std::vector<Place> place(std::span<const Wanted> slabs);
  /// Forgets a slab that could not be brought.
  void forget(const PanelKey& key);
  bool contains(const PanelKey& key) const { return slabs_.contains(key); }
  std::int64_t used() const { return arena_.used(); }  ///< bytes
  /// Size of a range that always has room for this list, in bytes.
  static std::int64_t required(std::span<const Wanted> slabs);

 private:
  struct Hash {
    std::size_t operator()(const PanelKey& key) const { return PanelName::Hash{}(PanelName(key, false, {})); }
  };
  /// Reserves places for the slabs that are absent, and drops slabs that are not pinned. Returns false if that is not
  /// enough.
  bool reserve(std::span<const Wanted> slabs, std::vector<Place>& places);

  Arena arena_;
  LeastRecentlyUsed<PanelKey, std::int64_t, Hash> slabs_;  ///< offsets
};

}  // namespace trifuse::gpu
