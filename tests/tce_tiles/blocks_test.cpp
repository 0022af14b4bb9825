#include "tce_tiles/tiles/blocks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tests/support/v2_blocks.hpp"

namespace trifuse {
namespace {

OrbitalCounts counts(std::int64_t orbitals, std::int64_t alpha, std::int64_t beta, int irreps, unsigned seed) {
  OrbitalCounts c;
  c.orbitals = {orbitals, orbitals};
  c.occupied = {alpha, beta};
  std::mt19937 random(seed);
  for (std::int64_t p = 0; p < orbitals; ++p)
    c.irreps[0].push_back(static_cast<int>(random() % static_cast<unsigned>(irreps)));
  c.irreps[1] = c.irreps[0];
  return c;
}

struct Case {
  std::string name;
  TileSpace space;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int irreps : {1, 2, 4, 8}) {
    for (const std::int64_t size : {1, 3, 20}) {
      const std::string name = std::to_string(irreps) + " irreps, tiles of " + std::to_string(size);
      const OrbitalCounts closed = counts(9, 4, 4, irreps, 7);
      all.push_back({"RHF, " + name, TileSpace::partition(sort_orbitals(closed, false).ranges, size, size, true)});
      const OrbitalCounts open = counts(9, 5, 3, irreps, 11);
      all.push_back({"UHF, " + name, TileSpace::partition(sort_orbitals(open, false).ranges, size, size, false)});
      all.push_back({"ROHF 2eorb, " + name, TileSpace::partition(sort_orbitals(open, true).ranges, size, size, false)});
      const OrbitalCounts one_spin = counts(6, 2, 0, irreps, 3);
      all.push_back(
          {"no beta, " + name, TileSpace::partition(sort_orbitals(one_spin, false).ranges, size, size, false)});
    }
  }
  return all;
}

void expect_ascending_and_dense(const BlockIndex& index) {
  EXPECT_FALSE(index.blocks().empty());
  std::int64_t offset = 0;
  std::int64_t key = -1;
  for (const Block& block : index.blocks()) {
    EXPECT_GT(block.key, key);
    EXPECT_EQ(block.offset, offset);
    EXPECT_EQ(index.find(block.key), &block);
    key = block.key;
    offset += block.size;
  }
  EXPECT_EQ(offset, index.doubles());
  EXPECT_EQ(index.find(key + 1), nullptr);
}

TEST(Blocks, AreStoredInKeyOrder) {
  for (const auto& [name, space] : cases()) {
    SCOPED_TRACE(name);
    expect_ascending_and_dense(f1_blocks(space));
    expect_ascending_and_dense(t1_blocks(space));
    expect_ascending_and_dense(t2_blocks(space));
    expect_ascending_and_dense(testing::v2_blocks(space));
  }
}

// The offset formulas of NWChem's files must agree with the lists of blocks.
TEST(Blocks, OffsetsFollowFromTheTiles) {
  for (const auto& [name, space] : cases()) {
    SCOPED_TRACE(name);
    const NwchemSizes sizes = nwchem_sizes(space);
    const auto compare_pairs = [](const BlockIndex& index, const PairOffsets& offsets, std::int64_t size) {
      EXPECT_EQ(index.doubles(), size);
      for (const Block& block : index.blocks()) EXPECT_EQ(offsets.offset(block.tiles[0], block.tiles[1]), block.offset);
    };
    compare_pairs(f1_blocks(space), PairOffsets::f1(space), sizes.f1);
    compare_pairs(t1_blocks(space), PairOffsets::t1(space), sizes.t1);
    const auto compare_quads = [](const BlockIndex& index, const QuadOffsets& offsets, std::int64_t size) {
      EXPECT_EQ(index.doubles(), size);
      for (const Block& block : index.blocks()) {
        EXPECT_EQ(offsets.offset(block.tiles[0], block.tiles[1], block.tiles[2], block.tiles[3]), block.offset);
      }
    };
    compare_quads(t2_blocks(space), QuadOffsets::t2(space), sizes.t2);
    compare_quads(testing::v2_blocks(space), QuadOffsets::v2(space), sizes.v2_spin_orbital);
    if (!sizes.v2_spatial) continue;
    const SpatialTiles spatial = spatial_tiles(space);
    const BlockIndex index = testing::v2_spatial_blocks(space, spatial);
    const SpatialOffsets offsets(space, spatial);
    EXPECT_EQ(index.doubles(), *sizes.v2_spatial);
    for (const Block& block : index.blocks()) {
      EXPECT_EQ(offsets.offset(block.tiles[0], block.tiles[1], block.tiles[2], block.tiles[3]), block.offset);
    }
    // The size of a file tells which storage it has.
    EXPECT_LT(*sizes.v2_spatial, sizes.v2_spin_orbital);
  }
}

TEST(Blocks, FollowSpinAndSymmetry) {
  const OrbitalCounts c = counts(9, 4, 4, 4, 7);
  const TileSpace space = TileSpace::partition(sort_orbitals(c, false).ranges, 2, 2, true);
  const BlockIndex index = t2_blocks(space);
  EXPECT_FALSE(index.blocks().empty());
  for (const Block& block : index.blocks()) {
    const auto [p1, p2, h3, h4] = block.tiles;
    EXPECT_LE(p1, p2);
    EXPECT_LE(h3, h4);
    EXPECT_EQ(space[p1].irrep ^ space[p2].irrep ^ space[h3].irrep ^ space[h4].irrep, 0);
    EXPECT_FALSE(space[p1].spin() == Spin::beta && space[p2].spin() == Spin::beta);
    EXPECT_EQ(space[p2].spin() == Spin::beta, space[h4].spin() == Spin::beta);
  }
}

TEST(SpatialTiles, PairBetaWithAlphaTiles) {
  const OrbitalCounts closed = counts(9, 4, 4, 4, 7);
  const TileSpace rhf = TileSpace::partition(sort_orbitals(closed, false).ranges, 2, 2, true);
  const SpatialTiles same = spatial_tiles(rhf);
  for (int t = 0; t < rhf.size(); ++t) {
    EXPECT_EQ(same.alpha_tile[static_cast<std::size_t>(same.spatial_tile[static_cast<std::size_t>(t)])],
              rhf[t].partner);
  }
  // CH2 in tiles of 3: the open alpha tile (number 1) is the first beta particle tile.
  OrbitalCounts open;
  open.orbitals = {13, 13};
  open.occupied = {5, 3};
  const TileSpace rohf = TileSpace::partition(sort_orbitals(open, true).ranges, 3, 3, false);
  EXPECT_EQ(spatial_tiles(rohf).spatial_tile, (std::vector<int>{0, 1, 0, 2, 3, 4, 1, 2, 3, 4}));
  const TileSpace plain = TileSpace::partition(sort_orbitals(open, false).ranges, 3, 3, false);
  EXPECT_THROW(spatial_tiles(plain), InputError);
}

}
}
