#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// The offsets of blocks in NWChem's files, in doubles. The classes compute them from the tile table alone, in constant
/// time and with memory of the order of tiles squared. So files with very many small tiles can be opened. The block
/// lists of tce_tiles/tiles/blocks.hpp define the order of the blocks.
namespace trifuse {

/// NWChem's storage of V2: antisymmetrised over spin orbitals (`2espin`), or (ij|kl) over spatial orbitals (`2eorb`).
enum class V2Storage { spin_orbital, spatial };

/// Number of doubles in each of the files.
struct NwchemSizes {
  std::int64_t f1 = 0;
  std::int64_t t1 = 0;
  std::int64_t t2 = 0;
  std::int64_t v2_spin_orbital = 0;
  std::optional<std::int64_t> v2_spatial;  ///< absent if the tiles do not allow this storage
};
NwchemSizes nwchem_sizes(const TileSpace& space);

/// Offsets of the blocks of F1 or T1. Upper tiles are [upper_begin, size), lower tiles [0, lower_end).
class PairOffsets {
 public:
  PairOffsets() = default;
  PairOffsets(const TileSpace& space, int upper_begin, int lower_end);
  static PairOffsets f1(const TileSpace& space) { return {space, 0, space.size()}; }
  static PairOffsets t1(const TileSpace& space) { return {space, space.hole_tiles(), space.hole_tiles()}; }

  /// Returns the offset of a block, which must exist.
  std::int64_t offset(int upper, int lower) const {
    return offset_[static_cast<std::size_t>(upper - upper_begin_) * lower_count_ + static_cast<std::size_t>(lower)];
  }

 private:
  int upper_begin_ = 0;
  std::size_t lower_count_ = 0;
  std::vector<std::int64_t> offset_;
};

/// Offsets of the blocks of T2 or spin-orbital V2. After a given upper pair, the lower pairs of the same spin sum and
/// irrep follow in a fixed order. So the offset of a block is the start of its upper pair, plus the size of the upper
/// pair times the total size of the lower pairs of that kind before its own.
class QuadOffsets {
 public:
  QuadOffsets() = default;
  QuadOffsets(const TileSpace& space, int upper_begin, int lower_end);
  static QuadOffsets t2(const TileSpace& space) { return {space, space.hole_tiles(), space.hole_tiles()}; }
  static QuadOffsets v2(const TileSpace& space) { return {space, 0, space.size()}; }

  /// Returns the offset of a block, which must exist; upper1 <= upper2 and lower1 <= lower2.
  std::int64_t offset(int upper1, int upper2, int lower1, int lower2) const;

 private:
  /// One number for each pair of tiles.
  struct Pairs {
    int begin = 0;
    std::size_t count = 0;
    std::vector<std::int64_t> value;  ///< upper: start of the pair; lower: doubles in earlier pairs of its kind
    std::size_t at(int first, int second) const {
      return static_cast<std::size_t>(first - begin) * count + static_cast<std::size_t>(second - begin);
    }
  };
  std::vector<std::int64_t> tile_size_;
  Pairs upper_;
  Pairs lower_;
};

/// Offsets of the blocks (ij|kl) of spatial V2. The file holds them in loops over j, i >= j, l, k >= l, if pair(i,j) >=
/// pair(k,l).
class SpatialOffsets {
 public:
  SpatialOffsets() = default;
  SpatialOffsets(const TileSpace& space, const SpatialTiles& spatial);

  /// Returns the offset of a block, which must exist; j <= i, l <= k, pair(i,j) >= pair(k,l).
  std::int64_t offset(int j, int i, int l, int k) const;

 private:
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(count_) + static_cast<std::size_t>(column);
  }
  /// Returns the number of doubles in the ket pairs {l', k'} of irrep x with l' < l that the bra pair {i, j} combines
  /// with.
  std::int64_t before(int j, int i, int l, int x) const;

  int count_ = 0;
  std::vector<std::int64_t> size_;
  std::vector<int> irrep_;
  /// below_[x][i,l]: doubles in the pairs of irrep x with l' < l and l' <= k' < i.
  std::array<std::vector<std::int64_t>, 8> below_;
  /// tiles_before_[x][l]: orbitals in the tiles of irrep x before l.
  std::array<std::vector<std::int64_t>, 8> tiles_before_;
  std::vector<std::int64_t> start_;  ///< start_[j,i]: offset of the first block of the bra pair
};

}
