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

/// The slabs of factors that a range of device memory contains, and their offsets. Works with offsets only.
class SlabTable {
 public:
  struct Wanted {
    PanelKey key;
    std::int64_t bytes;  ///< always the same for one key
  };
  struct Location {
    std::int64_t offset;  ///< offset in the range, bytes
    bool missing;         ///< true: the slab is not in memory yet, and the caller must send it
  };

  /// `bytes`: size of the range.
  explicit SlabTable(std::int64_t bytes) : arena_(bytes) {}

  /// Reserves memory for the slabs of a list, which are used together. If there is no room, drops other slabs, the
  /// least recently used first. Returns the locations in the order of the list. Throws Error if the list alone is too
  /// large.
  ///
  /// `slabs` must have no repetitions. A location is valid until the next call.
  std::vector<Location> locate(std::span<const Wanted> slabs);
  /// Removes a slab, for example one that could not be sent.
  void forget(const PanelKey& key);
  bool contains(const PanelKey& key) const { return slabs_.contains(key); }
  std::int64_t used() const { return arena_.used(); }  ///< bytes
  /// Returns the size of a range that always has room for this list, in bytes.
  static std::int64_t required(std::span<const Wanted> slabs);

 private:
  struct Hash {
    std::size_t operator()(const PanelKey& key) const { return PanelName::Hash{}(PanelName(key, false, {})); }
  };
  /// Reserves memory for the absent slabs, and drops slabs that are not pinned. Returns false if that is not enough.
  bool reserve(std::span<const Wanted> slabs, std::vector<Location>& locations);

  Arena arena_;
  LeastRecentlyUsed<PanelKey, std::int64_t, Hash> slabs_;  ///< offsets
};

}
