#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tce_tiles/tile_space.hpp"

/// Which blocks of F1, T1, T2 and V2 exist, in which order NWChem stores them, and under which key.
///
/// A tensor is the concatenation of its blocks in key order, without padding. Inside a block the last tile index is the
/// fastest, in the spatial storage of V2 the first one. Loop orders, filters and keys are those of TCE's `tce_*_offset`
/// routines.
namespace trifuse {

/// One block: its tiles in loop order (two or four), where its data begin, and how many doubles they are.
struct Block {
  std::array<int, 4>
      tiles;  ///< F1 {g6, g5}, T1 {p, h}, T2 {p1, p2, h3, h4}, V2 {g3, g4, g1, g2}, spatial V2 {j, i, l, k}
  std::int64_t key;
  std::int64_t offset;
  std::int64_t size;
};

/// The blocks of one tensor in storage order, with constant-time search by key.
class BlockIndex {
 public:
  void add(std::array<int, 4> tiles, std::int64_t key, std::int64_t size);
  const std::vector<Block>& blocks() const& { return blocks_; }
  void blocks() const&& = delete;  // a loop over a temporary's would dangle
  const Block* find(std::int64_t key) const;
  std::int64_t doubles() const { return doubles_; }

 private:
  std::vector<Block> blocks_;
  std::unordered_map<std::int64_t, std::size_t> position_;
  std::int64_t doubles_ = 0;
};

/// Sum of spins on both sides equal, irreps multiply to the totally symmetric one, and not all beta where the space is
/// restricted.
bool block_exists(const TileSpace& space, int upper, int lower);
bool block_exists(const TileSpace& space, int upper1, int upper2, int lower1, int lower2);

std::int64_t f1_key(const TileSpace& space, int g6, int g5);
std::int64_t t1_key(const TileSpace& space, int p, int h);
std::int64_t t2_key(const TileSpace& space, int p1, int p2, int h3, int h4);
std::int64_t v2_key(const TileSpace& space, int g3, int g4, int g1, int g2);

/// The same for tiles that may be any numbers: keys are numbers in a mixed radix, and an index outside its range would
/// name another block, so it gets -1, a key of none.
std::int64_t checked_f1_key(const TileSpace& space, int g6, int g5);
std::int64_t checked_t1_key(const TileSpace& space, int p, int h);
std::int64_t checked_t2_key(const TileSpace& space, int p1, int p2, int h3, int h4);
std::int64_t checked_v2_key(const TileSpace& space, int g3, int g4, int g1, int g2);

BlockIndex f1_blocks(const TileSpace& space);
BlockIndex t1_blocks(const TileSpace& space);
BlockIndex t2_blocks(const TileSpace& space);
/// V2 in spin-orbital storage: <g3 g4||g1 g2> = (g3 g1|g4 g2) - (g3 g2|g4 g1).
BlockIndex v2_blocks(const TileSpace& space);

/// The tiles of the alpha orbital space (occupied, then virtual) that NWChem's `2eorb` storage of V2 is built on, and
/// for each spin-orbital tile the spatial tile that holds the same orbitals (NWChem's b2am).
struct SpatialTiles {
  std::vector<int> alpha_tile;    ///< spatial tile -> spin-orbital alpha tile
  std::vector<int> spatial_tile;  ///< spin-orbital tile -> spatial tile
  int size() const { return static_cast<int>(alpha_tile.size()); }
};
/// Throws InputError when a beta tile has no spatial counterpart.
SpatialTiles spatial_tiles(const TileSpace& space);

/// V2 in `2eorb` storage: (ij|kl), i fastest. Tiles of a Block are {j, i, l, k}, spatial tile numbers.
std::int64_t v2_spatial_key(const SpatialTiles& spatial, int j, int i, int l, int k);
BlockIndex v2_spatial_blocks(const TileSpace& space, const SpatialTiles& spatial);

}  // namespace trifuse
