#include "tce_tiles/tiles/memory_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/copied_sources.hpp"
#include "tests/support/v2_blocks.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {
namespace {

const OrbitalSet rohf{Reference::rohf, {{{0, 0, 0, 1, 2}, {0, 0, 1}, {0, 1, 1, 3}, {0, 0, 1, 2, 3}}}};

TEST(TriplesV2Blocks, AreTheThreeClassesOfTheFullIndex) {
  for (const bool restricted : {true, false}) {
    const DenseMolecule m(restricted ? closed_shell({0, 0, 1}, {0, 1, 1}) : rohf, 1);
    const TileSpace space = TileSpace::partition(m.ranges(), 1, 2, restricted);
    const auto particle = [&](int g) { return space[g].space() == Space::particle; };
    std::set<std::array<int, 4>> expected, found;
    const BlockIndex all = v2_blocks(space);
    for (const Block& b : all.blocks()) {
      const auto [g3, g4, g1, g2] = b.tiles;
      const std::string type{particle(g3) ? 'p' : 'h', particle(g4) ? 'p' : 'h', particle(g1) ? 'p' : 'h',
                             particle(g2) ? 'p' : 'h'};
      if (type == "pphh" || type == "hphh" || type == "pphp") expected.insert(b.tiles);
    }
    const BlockIndex index = triples_v2_blocks(space);
    for (const Block& b : index.blocks()) {
      EXPECT_TRUE(found.insert(b.tiles).second);
      EXPECT_EQ(b.key, v2_key(space, b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3]));
      EXPECT_EQ(index.find(b.key), &b);
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(MemorySource, GivesBackWhatWasSet) {
  for (const OrbitalSet& set : {closed_shell({0, 1, 1}, {0, 0, 1, 2}), rohf}) {
    const DenseMolecule m(set, 2);
    const MemorySource source = memory_source(m, 2, 2);
    source.check_complete();
    expect_equal(source, m);
    const MemorySource copy = copy_of(source);
    copy.check_complete();
    expect_equal(copy, m);
    EXPECT_EQ(copy.info().correlation_energy, source.info().correlation_energy);
  }
}

TEST(MemorySource, RefusesBlocksThatDoNotExist) {
  const DenseMolecule m(closed_shell({0, 0}, {0, 0, 1}), 3);
  MemorySource source(TileSpace::partition(m.ranges(), 1, 1, true), m.energy, {}, {.integrals = true, .fock = false});
  // Tiles: holes 0 1 alpha, 2 3 beta; particles 4 5 6 alpha (6 of irrep 1), 7 8 9 beta.
  const std::vector<double> one = {1.0}, two = {1.0, 2.0};
  std::vector<double> out(1);
  EXPECT_THROW(source.set_t1(4, 0, two), UsageError);
  EXPECT_THROW(source.set_t1(6, 0, one), UsageError);  // irreps
  EXPECT_THROW(source.set_t1(7, 2, one), UsageError);  // a beta tile of a restricted space
  EXPECT_THROW(source.set_t1(0, 4, one), UsageError);  // hole and particle exchanged
  EXPECT_THROW(source.set_t1(4, 4, one), UsageError);  // the second tile is not a hole tile
  EXPECT_THROW(source.set_t1(-1, 0, one), UsageError);
  EXPECT_THROW(source.set_t2(5, 4, 0, 1, one), UsageError);   // not ascending
  EXPECT_THROW(source.set_t2(4, 5, 0, 40, one), UsageError);  // no tile 40
  EXPECT_THROW(source.set_v2(4, 5, 4, 5, one), UsageError);   // triples do not need this class
  EXPECT_THROW(source.set_fock(0, 0, one), UsageError);       // the source was made without a Fock matrix
  EXPECT_NE(message<InputError>([&] { source.read_t1(4, 0, out); }).find("Block (4, 0, 0, 0) of T1 was never set"),
            std::string::npos);
  source.set_t1(4, 0, one);
  source.read_t1(4, 0, out);
  EXPECT_EQ(out, one);
  EXPECT_EQ(source.t1(4, 0).front(), 1.0);
  EXPECT_EQ(message<UsageError>([&] { source.check_complete(); }),
            "3 of the 4 blocks of T1 were not set; the first is (4, 1, 0, 0).");
  EXPECT_THROW(MemorySource(source.tiles(), {1.0}, {}, {}), UsageError);
}

struct RetileCase {
  std::string name;
  OrbitalSet orbitals;
};

class RetileSizes : public ::testing::TestWithParam<RetileCase> {};

TEST_P(RetileSizes, KeepsEveryElement) {
  const DenseMolecule m(GetParam().orbitals, 4);
  // From smaller to larger tiles, back, and to tiles with other boundaries.
  const std::vector<std::pair<int, int>> sizes = {{1, 1}, {2, 3}, {3, 2}, {40, 40}};
  for (const auto& [hole, particle] : sizes) {
    const MemorySource source = memory_source(m, hole, particle);
    for (const auto& [new_hole, new_particle] : sizes) {
      const auto result = copy_in_tiles(source, new_hole, new_particle);
      EXPECT_EQ(result->tiles(), source.tiles().retiled(new_hole, new_particle));
      EXPECT_EQ(result->info().provenance, source.info().provenance);
      EXPECT_TRUE(result->has_fock());
      dynamic_cast<const MemorySource&>(*result).check_complete();
      expect_equal(*result, m);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(References, RetileSizes,
                         ::testing::Values(RetileCase{"rhf", closed_shell({0, 0, 0, 0}, {0, 0, 0, 0, 0})},
                                           RetileCase{"rhf_irreps", closed_shell({0, 0, 0, 1, 1}, {0, 1, 1, 1, 3})},
                                           RetileCase{"rohf", rohf},
                                           RetileCase{"no_beta", {Reference::uhf, {{{0, 0}, {}, {0, 0, 0}, {}}}}}),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Retile, UnequalTilesOfTheSource) {
  // Tiles of unequal sizes, as a caller may choose them. Retiling merges neighbouring tiles of one irrep.
  const DenseMolecule m({Reference::uhf, {{{0, 0, 0}, {0}, {0, 0, 0, 0, 0}, {0, 0, 0}}}}, 5);
  using enum OrbitalClass;
  std::vector<Tile> tiles;
  for (const auto& [c, size] : {std::pair{hole_alpha, 2},
                                {hole_alpha, 1},
                                {hole_beta, 1},
                                {particle_alpha, 1},
                                {particle_alpha, 3},
                                {particle_alpha, 1},
                                {particle_beta, 3}}) {
    tiles.push_back({c, 0, size, 0, 0});
  }
  MemorySource source(TileSpace(tiles, false), m.energy, {}, {.integrals = true, .fock = false});
  const auto set = [&](const BlockIndex& index, auto element, auto put) {
    for (const Block& b : index.blocks()) {
      std::vector<double> values;
      for_each_element(source.tiles(), b, 4, [&](const auto& p) { values.push_back(element(p)); });
      put(b.tiles, values);
    }
  };
  for (const Block& b : source.t1_index().blocks()) {
    std::vector<double> values;
    for_each_element(source.tiles(), b, 2, [&](const auto& p) { values.push_back(m.t1(p[0], p[1])); });
    source.set_t1(b.tiles[0], b.tiles[1], values);
  }
  set(
      source.t2_index(), [&](const auto& p) { return m.t2(p[0], p[1], p[2], p[3]); },
      [&](const auto& t, const auto& values) { source.set_t2(t[0], t[1], t[2], t[3], values); });
  set(
      source.v2_index(), [&](const auto& p) { return m.v2(p[0], p[1], p[2], p[3]); },
      [&](const auto& t, const auto& values) { source.set_v2(t[0], t[1], t[2], t[3], values); });
  for (const auto& [hole, particle] : {std::pair{2, 2}, {1, 4}, {10, 10}}) {
    const auto result = copy_in_tiles(source, hole, particle);
    EXPECT_FALSE(result->has_fock());
    expect_equal(*result, m);
  }
}

TEST(Retile, AmplitudesAlone) {
  const DenseMolecule m(closed_shell({0, 0}, {0, 0}), 6);
  MemorySource source(TileSpace::partition(m.ranges(), 1, 1, true), m.energy, {}, {.integrals = false, .fock = false});
  const MemorySource full = memory_source(m, 1, 1);
  for (const Block& b : source.t1_index().blocks())
    source.set_t1(b.tiles[0], b.tiles[1], full.t1(b.tiles[0], b.tiles[1]));
  for (const Block& b : source.t2_index().blocks()) {
    const auto& [p1, p2, h3, h4] = b.tiles;
    source.set_t2(p1, p2, h3, h4, full.t2(p1, p2, h3, h4));
  }
  const auto result = copy_in_tiles(source, 2, 2);
  EXPECT_FALSE(result->has_integrals());
  expect_equal(*result, m);
}

}
}
