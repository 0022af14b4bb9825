#include "tce_tiles/tiles/tile_space.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes sizes_of(const TileSpace& space, OrbitalClass c) {
  Sizes sizes;
  for (int t = space.first(c); t < space.last(c); ++t) sizes.push_back(space[t].size);
  return sizes;
}
std::vector<int> irreps_of(const TileSpace& space, OrbitalClass c) {
  std::vector<int> irreps;
  for (int t = space.first(c); t < space.last(c); ++t) irreps.push_back(space[t].irrep);
  return irreps;
}

OrbitalCounts counts(std::int64_t orbitals, std::int64_t alpha, std::int64_t beta) {
  OrbitalCounts c;
  c.orbitals = {orbitals, orbitals};
  c.occupied = {alpha, beta};
  return c;
}

// Tables that NWChem printed: O2/cc-pVTZ in tiles of 5, ozone in tiles of 20, C20 in tiles of 17, water/cc-pVDZ in
// tiles of 5.
TEST(TileCuts, FollowNwchem) {
  EXPECT_EQ(divide_into_tiles(11, 5), (Sizes{3, 4, 4}));
  EXPECT_EQ(divide_into_tiles(23, 20), (Sizes{11, 12}));
  EXPECT_EQ(divide_into_tiles(19, 5), (Sizes{4, 5, 5, 5}));
  const Sizes c20 = divide_into_tiles(195, 17);
  EXPECT_EQ(c20.size(), 12u);
  EXPECT_EQ((Sizes{c20.begin(), c20.begin() + 4}), (Sizes{16, 16, 16, 17}));
  EXPECT_EQ(std::accumulate(c20.begin(), c20.end(), std::int64_t{0}), 195);
  EXPECT_EQ(divide_into_tiles(3, 1), (Sizes{1, 1, 1}));
  EXPECT_EQ(divide_into_tiles(3, 100), (Sizes{3}));
  EXPECT_TRUE(divide_into_tiles(0, 4).empty());
  EXPECT_THROW(divide_into_tiles(3, 0), UsageError);
}

TEST(TileCuts, AreEvenAndWithinTheSize) {
  for (std::int64_t n = 1; n < 60; ++n) {
    for (std::int64_t size = 1; size < 20; ++size) {
      const Sizes cuts = divide_into_tiles(n, size);
      EXPECT_EQ(std::accumulate(cuts.begin(), cuts.end(), std::int64_t{0}), n);
      const auto [least, most] = std::minmax_element(cuts.begin(), cuts.end());
      EXPECT_LE(*most, size);
      EXPECT_LE(*most - *least, 1);
      EXPECT_EQ(static_cast<std::int64_t>(cuts.size()), (n + size - 1) / size);
    }
  }
}

TEST(SortedOrbitals, RunIrrepByIrrep) {
  OrbitalCounts c = counts(6, 3, 3);
  c.irreps = {std::vector<int>{0, 2, 0, 3, 0, 2}, std::vector<int>{0, 2, 0, 3, 0, 2}};
  const SortedOrbitals sorted = sort_orbitals(c, false);
  EXPECT_EQ(sorted.orbital, (Sizes{0, 2, 1, 0, 2, 1, 4, 5, 3, 4, 5, 3}));
  const TileSpace space = TileSpace::partition(sorted.ranges, 1, 1, true);
  EXPECT_EQ(irreps_of(space, OrbitalClass::hole_alpha), (std::vector<int>{0, 0, 2}));
  EXPECT_EQ(irreps_of(space, OrbitalClass::particle_beta), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(space[4].partner, 1);
  EXPECT_EQ(space[space.first(OrbitalClass::particle_beta)].partner, space.first(OrbitalClass::particle_alpha));
  EXPECT_EQ(space[5].offset, 5);
}

TEST(SortedOrbitals, LeaveFrozenOnesOut) {
  OrbitalCounts c = counts(10, 5, 4);
  c.frozen_core = {1, 1};
  c.frozen_virtual = {2, 2};
  const SortedOrbitals sorted = sort_orbitals(c, false);
  EXPECT_EQ(sorted.orbital, (Sizes{1, 2, 3, 4, 1, 2, 3, 5, 6, 7, 4, 5, 6, 7}));
  c.frozen_core = {5, 5};
  EXPECT_THROW(sort_orbitals(c, false), InputError);
}

// CH2/6-31G (five alpha, three beta electrons, 13 orbitals) in tiles of 3: the tables of NWChem 7.0.2 with and without
// `2eorb`.
TEST(SortedOrbitals, SplitOpenShellsForOrbitalStorage) {
  const OrbitalCounts c = counts(13, 5, 3);
  const TileSpace plain = TileSpace::partition(sort_orbitals(c, false).ranges, 3, 3, false);
  EXPECT_EQ(sizes_of(plain, OrbitalClass::hole_alpha), (Sizes{2, 3}));
  EXPECT_EQ(sizes_of(plain, OrbitalClass::hole_beta), (Sizes{3}));
  EXPECT_EQ(sizes_of(plain, OrbitalClass::particle_alpha), (Sizes{2, 3, 3}));
  EXPECT_EQ(sizes_of(plain, OrbitalClass::particle_beta), (Sizes{2, 3, 2, 3}));
  const TileSpace split = TileSpace::partition(sort_orbitals(c, true).ranges, 3, 3, false);
  EXPECT_EQ(sizes_of(split, OrbitalClass::hole_alpha), (Sizes{3, 2}));
  EXPECT_EQ(sizes_of(split, OrbitalClass::particle_alpha), (Sizes{2, 3, 3}));
  EXPECT_EQ(sizes_of(split, OrbitalClass::particle_beta), (Sizes{2, 2, 3, 3}));
}

TEST(TileSpace, HandlesEmptyClasses) {
  // Three electrons of one spin: no occupied beta orbital.
  const TileSpace space = TileSpace::partition(sort_orbitals(counts(6, 3, 0), false).ranges, 2, 2, false);
  EXPECT_EQ(space.first(OrbitalClass::hole_beta), space.last(OrbitalClass::hole_beta));
  EXPECT_EQ(space.hole_tiles(), 2);
  EXPECT_EQ(space.orbitals(OrbitalClass::particle_beta), 6);
  EXPECT_EQ(space.orbitals(), 12);
  EXPECT_EQ(space.range(OrbitalClass::hole_beta, 0).size, 0);
}

TEST(TileSpace, RefusesDisorder) {
  const Tile hole{OrbitalClass::hole_alpha, 0, 2, 0, 0};
  const Tile particle{OrbitalClass::particle_alpha, 0, 2, 0, 0};
  EXPECT_THROW(TileSpace({particle, hole}, false), InputError);
  EXPECT_THROW(TileSpace({{OrbitalClass::hole_alpha, 0, 0, 0, 0}}, false), InputError);
  EXPECT_THROW(TileSpace({{OrbitalClass::hole_alpha, 8, 1, 0, 0}}, false), InputError);
  EXPECT_THROW(TileSpace({hole, particle}, true), InputError);  // no beta tiles
}

TEST(TileSpace, IsRetiled) {
  const TileSpace space = TileSpace::partition(sort_orbitals(counts(13, 5, 5), false).ranges, 3, 3, true);
  EXPECT_EQ(space.retiled(3, 3), space);
  const TileSpace other = space.retiled(5, 4);
  EXPECT_EQ(sizes_of(other, OrbitalClass::hole_alpha), (Sizes{5}));
  EXPECT_EQ(sizes_of(other, OrbitalClass::particle_beta), (Sizes{4, 4}));
  EXPECT_EQ(other.retiled(3, 3), space);
  EXPECT_EQ(sizes_of(space.refined(2, 2), OrbitalClass::hole_alpha), (Sizes{2, 1, 2}));
  EXPECT_EQ(space.largest_tile(), 3);
}

TEST(TileSpace, IsCutInMultiplesOfAGranule) {
  const auto cut = [](std::int64_t n, std::int64_t size, std::int64_t granule) {
    const TileSpace space = TileSpace::partition(sort_orbitals(counts(n + 7, n, n), false).ranges, 3, 3, true);
    const TileSpace aligned = space.retiled_aligned(size, size, granule);
    EXPECT_EQ(aligned.orbitals(), space.orbitals());
    EXPECT_TRUE(aligned.restricted());
    EXPECT_EQ(sizes_of(aligned, OrbitalClass::hole_alpha), sizes_of(aligned, OrbitalClass::hole_beta));
    return sizes_of(aligned, OrbitalClass::hole_alpha);
  };
  EXPECT_EQ(cut(40, 20, 4), (Sizes{20, 20}));
  EXPECT_EQ(cut(45, 8, 4), (Sizes{8, 8, 8, 8, 8, 5}));
  EXPECT_EQ(cut(45, 11, 4), (Sizes{8, 8, 8, 8, 8, 5}));  // rounded down
  EXPECT_EQ(cut(7, 3, 4), (Sizes{3, 3, 1}));             // smaller than the granule
  EXPECT_EQ(cut(7, 4, 4), (Sizes{4, 3}));
  EXPECT_EQ(cut(3, 20, 4), (Sizes{3}));
  EXPECT_THROW(cut(3, 0, 4), UsageError);
  EXPECT_THROW(cut(3, 4, 0), UsageError);
}

TEST(TileSpace, IsCutInMultiplesOfAGranuleWithinEachRun) {
  OrbitalCounts c = counts(40, 16, 16);
  for (auto& irreps : c.irreps) {
    for (int p = 0; p < 40; ++p) irreps.push_back(p % 3 == 0 ? 2 : 0);
  }
  const TileSpace space = TileSpace::partition(sort_orbitals(c, false).ranges, 3, 5, true);
  const TileSpace aligned = space.retiled_aligned(6, 13, 4);
  EXPECT_EQ(sizes_of(aligned, OrbitalClass::hole_alpha), (Sizes{4, 4, 2, 4, 2}));
  EXPECT_EQ(irreps_of(aligned, OrbitalClass::hole_alpha), (std::vector<int>{0, 0, 0, 2, 2}));
  EXPECT_EQ(sizes_of(aligned, OrbitalClass::particle_beta), (Sizes{12, 4, 8}));
  EXPECT_EQ(irreps_of(aligned, OrbitalClass::particle_beta), (std::vector<int>{0, 0, 2}));
}

}
}
