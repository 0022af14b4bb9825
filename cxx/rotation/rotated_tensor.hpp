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
#include "tce_tiles/blocks.hpp"

namespace trifuse {

/// Blocks that are rotated together: all those with the same two tiles on one side, the other side's two indices
/// running over two runs of orbitals.
struct RotationUnit {
  std::array<std::size_t, 2> runs;
  std::vector<std::size_t> blocks;     ///< their numbers in the index
  std::array<std::int64_t, 4> extent;  ///< of what they make together
  std::int64_t doubles;                ///< of that
  std::int64_t stored_doubles;         ///< of the blocks: of a pair in one run those with ascending tiles
};

/// The blocks of a tensor in the memories of the ranks of a team, or in that of one process: unit after unit, about as
/// many doubles on each rank.
class SharedBlocks {
 public:
  /// Collective where there is a team with arrays; else this process has all of them.
  SharedBlocks(const BlockIndex& index, const std::vector<RotationUnit>& units, Communicator* communicator);

  /// Units of which this rank has the blocks.
  std::size_t first_unit() const { return first_unit_; }
  std::size_t last_unit() const { return last_unit_; }
  std::int64_t own_doubles() const { return own_doubles_; }
  /// Where a block of these units is to be written.
  double* own(std::size_t block) { return own_[locations_[block].segment] + locations_[block].offset; }
  /// Lets others read what was written: collective.
  void sync();
  /// Copies a block, wherever it lies. Any thread may do so.
  void read(std::size_t block, std::span<double> values) const;

 private:
  struct Location {
    std::size_t segment = 0;
    std::int64_t offset = 0;
  };
  std::vector<Location> locations_;
  std::size_t first_unit_ = 0, last_unit_ = 0;
  std::int64_t own_doubles_ = 0;
  Buffer alone_;
  std::unique_ptr<SharedArray> array_;
  std::vector<double*> own_;    ///< by piece: where it lies in this process, or null
  mutable std::mutex reading_;  ///< what others have
};

/// A tensor of four indices in rotated orbitals. The ranks of a team share it, and the work: each reads some of the
/// blocks, rotates one pair of their indices over whole runs of orbitals, and then the other pair of as many blocks,
/// for which it fetches what all have made of the first. What it needs beside its share is room for a few units.
class RotatedTensor {
 public:
  /// Fills a block of the index, in the layout of `TileSource`.
  using Read = std::function<void(const std::array<int, 4>& tiles, std::span<double> block)>;

  /// Collective where there is a team with arrays; else each process makes all of it. The bits do not depend on how
  /// many ranks and threads there are. `concurrent`: whether several threads may read at the same time. `begin_unit` is
  /// called by any thread before a unit, and may throw to end it all.
  RotatedTensor(const TileSpace& tiles, BlockIndex index, const OrbitalRotation& rotation, const Read& read,
                bool concurrent, const std::function<void()>& begin_unit, Communicator* communicator);

  /// Copies the block with this key. Any thread may do so.
  void read(std::int64_t key, std::span<double> block) const;
  std::int64_t own_bytes() const;

  /// Of all matrix products, a multiply and an add counted as two.
  static double operations(const TileSpace& tiles, const BlockIndex& index);
  /// What a rank that has so many bytes of the tensor needs at most while it is rotated. `unit`: bytes of the largest
  /// unit.
  static double peak_bytes(double own, double unit) { return 2.0 * own + std::max(share_for_units * own, 2.0 * unit); }
  /// Of what a rank has of the tensor, so much may units take that threads rotate beside each other.
  static constexpr double share_for_units = 0.5;

 private:
  BlockIndex index_;
  std::unique_ptr<SharedBlocks> blocks_;
};

}  // namespace trifuse
