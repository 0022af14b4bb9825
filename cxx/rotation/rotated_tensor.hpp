#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Blocks of a rank-4 tensor that are rotated together. One pair of indices (upper or lower) is rotated. All blocks of
/// a group have the same two tiles in the other pair, and their rotated indices belong to the same two orbital ranges.
/// Together the blocks form one array, in which the rotated indices cover these ranges.
struct BlockGroup {
  std::array<std::size_t, 2> ranges;   ///< numbers of the orbital ranges of the two rotated indices
  std::vector<std::size_t> blocks;     ///< numbers of the blocks in the BlockIndex
  std::array<std::int64_t, 4> extent;  ///< shape of the array
  std::int64_t doubles;                ///< size of the array
  std::int64_t stored_doubles;  ///< size of the blocks; of one and the same range, only ascending tiles are stored
};

/// The blocks of a tensor, distributed over the memories of all ranks or stored in this process. Each rank owns
/// consecutive groups, about the same number of doubles on each rank.
class SharedBlocks {
 public:
  /// Allocates the memory of the blocks. Ranks share the blocks if `communicator` is not null, has arrays and has
  /// several ranks; then the constructor is collective. Otherwise this process stores all blocks. `groups`: the groups
  /// that make up all blocks of `index`.
  SharedBlocks(const BlockIndex& index, const std::vector<BlockGroup>& groups, Communicator* communicator);

  /// This rank owns the blocks of the groups first_group(), ..., last_group() - 1.
  std::size_t first_group() const { return first_group_; }
  std::size_t last_group() const { return last_group_; }
  /// Returns the size of the blocks that this rank owns.
  std::int64_t own_doubles() const { return own_doubles_; }
  /// Returns the memory of a block that this rank owns. `block`: its number in the index.
  double* own(std::size_t block) { return own_[locations_[block].segment] + locations_[block].offset; }
  /// Makes the blocks of all ranks readable for all ranks. Collective.
  void sync();
  /// Copies a block of any rank to `values`. Any thread may call it. Blocks of other ranks need a `sync` first.
  void read(std::size_t block, std::span<double> values) const;

 private:
  struct Location {
    std::size_t segment = 0;
    std::int64_t offset = 0;
  };
  std::vector<Location> locations_;  ///< [block]
  std::size_t first_group_ = 0, last_group_ = 0;
  std::int64_t own_doubles_ = 0;
  Buffer alone_;                        ///< all blocks if ranks do not share them
  std::unique_ptr<SharedArray> array_;  ///< null if ranks do not share them
  std::vector<double*> own_;            ///< [segment]: its memory in this process, null for segments of other ranks
  mutable std::mutex reading_;          ///< guards reads of other ranks' segments
};

/// A tensor of four indices in rotated orbitals. Ranks share the tensor and the work. First each rank reads its part of
/// the blocks and rotates their lower pair of indices. Then it fetches half-rotated blocks from all ranks and rotates
/// their upper pair. Besides its part of the tensor a rank needs memory for a few groups.
class RotatedTensor {
 public:
  /// Reads and rotates the tensor. Collective if `communicator` is not null. Ranks share the tensor if the communicator
  /// has arrays; otherwise each rank makes all of it. The bits do not depend on the number of ranks and threads.
  ///
  /// `tensor`, `index`: T2 or V2, and those of its blocks in `source` that are rotated. `begin_group`: called by a
  /// worker thread before each group; it may throw to stop the rotation. Throws on all ranks if it fails on any.
  RotatedTensor(const TileSource& source, TensorKind tensor, BlockIndex index, const OrbitalRotation& rotation,
                const std::function<void()>& begin_group, Communicator* communicator);

  /// Copies the rotated block with this key to `block`, in the layout of `TileSource`. Any thread may call it.
  void read(std::int64_t key, std::span<double> block) const;
  /// Returns the size of the blocks that this rank stores, bytes.
  std::int64_t own_bytes() const;

  /// Returns the floating-point operations of all matrix products of a rotation. A multiplication and an addition count
  /// as two.
  static double operations(const TileSpace& tiles, const BlockIndex& index);
  /// Returns the largest amount of memory that a rank needs during the rotation, bytes. `own`: bytes of the rank's part
  /// of the tensor. `group`: bytes of the largest group.
  static double peak_bytes(double own, double group) {
    return 2.0 * own + std::max(share_for_groups * own, 2.0 * group);
  }
  /// The groups that are rotated at the same time may take this fraction of the rank's part of the tensor.
  static constexpr double share_for_groups = 0.5;

 private:
  BlockIndex index_;
  std::unique_ptr<SharedBlocks> blocks_;
};

}
