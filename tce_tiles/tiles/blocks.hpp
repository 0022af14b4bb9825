#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

#pragma GCC visibility push(default)

/// The blocks of F1, T1, T2 and V2: which blocks exist, the order in which NWChem stores them, and the key of each
/// block.
///
/// A tensor consists of its blocks one after another in key order, without padding. A block is in C order, last index
/// fastest: f[g6,g5], t1[p,h], t2[p1,p2,h3,h4], v2[g3,g4,g1,g2]. A block of the spatial storage of V2 holds (ij|kl) as
/// v2[l,k,j,i]. Loop orders, filters and keys are those of TCE's `tce_*_offset` routines.
///
/// A function without a throws clause does not check its tile numbers: they must be valid numbers of `space`.
namespace trifuse {

/// One block of a tensor.
struct Block {
  /// Tile numbers in loop order: F1 {g6, g5, 0, 0}, T1 {p, h, 0, 0}, T2 {p1, p2, h3, h4}, V2 {g3, g4, g1, g2}, spatial
  /// V2 {j, i, l, k}.
  std::array<int, 4> tiles;
  std::int64_t key;     ///< names the block inside its tensor
  std::int64_t offset;  ///< position of the first element in the tensor, in doubles
  std::int64_t size;    ///< number of doubles
};

/// The blocks of one tensor in storage order, with constant-time search by key.
class BlockIndex {
 public:
  /// Appends a block of `size` doubles. Its offset is the total size of the blocks before it.
  void add(std::array<int, 4> tiles, std::int64_t key, std::int64_t size);
  const std::vector<Block>& blocks() const& { return blocks_; }
  void blocks() const&& = delete;  // the reference would outlive a temporary
  /// Returns the block with this key; null if there is none.
  const Block* find(std::int64_t key) const;
  /// Returns the number of doubles in all blocks.
  std::int64_t doubles() const { return doubles_; }

 private:
  std::vector<Block> blocks_;
  std::unordered_map<std::int64_t, std::size_t> position_;
  std::int64_t doubles_ = 0;
};

/// Returns true if the upper and the lower tiles have the same sum of spins and the irreps multiply to the totally
/// symmetric irrep. In a restricted space, blocks whose tiles are all beta do not exist.
bool block_exists(const TileSpace& space, int upper, int lower);
bool block_exists(const TileSpace& space, int upper1, int upper2, int lower1, int lower2);

/// Returns TCE's key of a block: a number in a mixed radix whose digits are the tile numbers.
std::int64_t f1_key(const TileSpace& space, int g6, int g5);
std::int64_t t1_key(const TileSpace& space, int p, int h);
std::int64_t t2_key(const TileSpace& space, int p1, int p2, int h3, int h4);
std::int64_t v2_key(const TileSpace& space, int g3, int g4, int g1, int g2);
/// The key of a block of a tensor. `tiles`: the arguments of the function above; of F1 and T1 the first two.
std::int64_t block_key(const TileSpace& space, TensorKind tensor, const std::array<int, 4>& tiles);

/// Returns the key of a block for tile numbers that may be invalid: -1, the key of no block, if a tile number is out of
/// range for its index. (f1_key() and the others would return the key of a different block.)
std::int64_t checked_f1_key(const TileSpace& space, int g6, int g5);
std::int64_t checked_t1_key(const TileSpace& space, int p, int h);
std::int64_t checked_t2_key(const TileSpace& space, int p1, int p2, int h3, int h4);
std::int64_t checked_v2_key(const TileSpace& space, int g3, int g4, int g1, int g2);

/// Returns all existing blocks of a tensor, in storage order.
BlockIndex f1_blocks(const TileSpace& space);
BlockIndex t1_blocks(const TileSpace& space);
BlockIndex t2_blocks(const TileSpace& space);

/// The tiles of spatial orbitals on which NWChem's `2eorb` storage of V2 is built. They are the alpha tiles, occupied
/// ones first.
struct SpatialTiles {
  std::vector<int> alpha_tile;    ///< alpha_tile[spatial tile]: the spin-orbital alpha tile with the same orbitals
  std::vector<int> spatial_tile;  ///< spatial_tile[spin-orbital tile]: the spatial tile with the same orbitals; b2am
  int size() const { return static_cast<int>(alpha_tile.size()); }
};
/// Throws InputError if a beta tile has no spatial tile with the same orbitals.
SpatialTiles spatial_tiles(const TileSpace& space);

}

#pragma GCC visibility pop
