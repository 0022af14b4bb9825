#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tce_tiles/blocks.hpp"
#include "tce_tiles/tile_space.hpp"

/// Where blocks are in NWChem's files, computed from the tile table alone in constant time and in memory of the order
/// of tiles squared, so that files of very many small tiles can be opened too. The block lists of tce_tiles/blocks.hpp
/// define the order.
namespace trifuse {

/// How NWChem stores V2: antisymmetrised over spin orbitals (`2espin`), or (ij|kl) over spatial orbitals (`2eorb`).
enum class V2Storage { spin_orbital, spatial };

/// Doubles in each of the files.
struct NwchemSizes {
  std::int64_t f1 = 0;
  std::int64_t t1 = 0;
  std::int64_t t2 = 0;
  std::int64_t v2_spin_orbital = 0;
  std::optional<std::int64_t> v2_spatial;  ///< absent if the tiles do not allow this storage
};
NwchemSizes nwchem_sizes(const TileSpace& space);

/// Offsets of F1 and T1 blocks: upper tiles [upper_begin, size), lower tiles [0, lower_end).
class PairOffsets {
 public:
  PairOffsets() = default;
  PairOffsets(const TileSpace& space, int upper_begin, int lower_end);
  static PairOffsets f1(const TileSpace& space) { return {space, 0, space.size()}; }
  static PairOffsets t1(const TileSpace& space) { return {space, space.hole_tiles(), space.hole_tiles()}; }

  /// Of a block that exists.
  std::int64_t offset(int upper, int lower) const {
    return offset_[static_cast<std::size_t>(upper - upper_begin_) * lower_count_ + static_cast<std::size_t>(lower)];
  }
  std::int64_t doubles() const { return doubles_; }

 private:
  int upper_begin_ = 0;
  std::size_t lower_count_ = 0;
  std::vector<std::int64_t> offset_;
  std::int64_t doubles_ = 0;
};

/// Offsets of T2 and spin-orbital V2 blocks. For a given upper pair the lower pairs of the same spin sum and irrep
/// follow in a fixed order, so an offset is the start of the upper pair plus its size times the sizes of the lower
/// pairs of that kind before.
class QuadOffsets {
 public:
  QuadOffsets() = default;
  QuadOffsets(const TileSpace& space, int upper_begin, int lower_end);
  static QuadOffsets t2(const TileSpace& space) { return {space, space.hole_tiles(), space.hole_tiles()}; }
  static QuadOffsets v2(const TileSpace& space) { return {space, 0, space.size()}; }

  /// Of a block that exists, upper1 <= upper2 and lower1 <= lower2.
  std::int64_t offset(int upper1, int upper2, int lower1, int lower2) const;
  std::int64_t doubles() const { return doubles_; }

 private:
  struct Pairs {
    int begin = 0;
    std::size_t count = 0;
    std::vector<std::int64_t> value;  ///< start of the upper pair, or doubles in the lower pairs before
    std::size_t at(int first, int second) const {
      return static_cast<std::size_t>(first - begin) * count + static_cast<std::size_t>(second - begin);
    }
  };
  std::vector<std::int64_t> tile_size_;
  Pairs upper_;
  Pairs lower_;
  std::int64_t doubles_ = 0;
};

/// Offsets of spatial V2 blocks (ij|kl), stored for j, i >= j, l, k >= l with pair(i,j) >= pair(k,l).
class SpatialOffsets {
 public:
  SpatialOffsets() = default;
  SpatialOffsets(const TileSpace& space, const SpatialTiles& spatial);

  /// Of a block that exists, j <= i, l <= k, pair(i,j) >= pair(k,l).
  std::int64_t offset(int j, int i, int l, int k) const;
  std::int64_t doubles() const { return doubles_; }

 private:
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(column);
  }
  /// Doubles in the ket pairs {l', k'} of irrep x with l' < l that precede the bra pair {i, j}.
  std::int64_t before(int j, int i, int l, int x) const;

  int count_ = 0;
  std::vector<std::int64_t> size_;
  std::vector<int> irrep_;
  /// [x][i][l]: pairs l' < l, l' <= k' < i of irrep x.
  std::array<std::vector<std::int64_t>, 8> below_;
  /// [x][l]: sizes of tiles of irrep x before l.
  std::array<std::vector<std::int64_t>, 8> tiles_before_;
  std::vector<std::int64_t> start_;  ///< [j][i]
  std::int64_t doubles_ = 0;
};

}  // namespace trifuse
