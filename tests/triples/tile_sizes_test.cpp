#include <gtest/gtest.h>

#include <vector>

#include "cxx/plan/plan.hpp"

namespace trifuse {
namespace {

/// Occupied orbitals by irrep, and ten virtual ones.
TileSpace closed_shell_of(const std::vector<std::int64_t>& occupied) {
  std::vector<OrbitalRange> ranges;
  for (const OrbitalClass c : {OrbitalClass::hole_alpha, OrbitalClass::hole_beta}) {
    for (std::size_t irrep = 0; irrep < occupied.size(); ++irrep) {
      ranges.push_back({c, static_cast<int>(irrep), occupied[irrep]});
    }
  }
  for (const OrbitalClass c : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) ranges.push_back({c, 0, 10});
  return TileSpace::partition(ranges, 4, 16, true);
}

std::int64_t hole_size(const std::vector<std::int64_t>& occupied) {
  const TileSizes sizes = default_tiling(closed_shell_of(occupied), SpinFormulation::spin_adapted, true).sizes;
  EXPECT_EQ(sizes.particles, 32);
  EXPECT_EQ(sizes.holes % tile_granule, 0);
  return sizes.holes;
}

TEST(TileSizesForGpus, LeaveFewHoleTilesAndNoneNearlyEmpty) {
  EXPECT_EQ(hole_size({40}), 20);
  EXPECT_EQ(hole_size({20}), 20);
  EXPECT_EQ(hole_size({45}), 24);
  EXPECT_EQ(hole_size({49}), 20);  // 20 20 9, where 24 gives 24 24 1
  EXPECT_EQ(hole_size({15}), 16);
  EXPECT_EQ(hole_size({5}), 12);
  EXPECT_EQ(hole_size({14, 5, 16, 9}), 16);
}

TEST(TileSizesForGpus, AreSmallerForASampleOfFewTasks) {
  const auto particle_size = [](std::int64_t occupied, std::int64_t virtuals, bool has_sample) {
    std::vector<OrbitalRange> ranges;
    for (const OrbitalClass c : {OrbitalClass::hole_alpha, OrbitalClass::hole_beta}) ranges.push_back({c, 0, occupied});
    for (const OrbitalClass c : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta})
      ranges.push_back({c, 0, virtuals});
    const TileSpace orbitals = TileSpace::partition(ranges, 4, 16, true);
    return default_tiling(orbitals, SpinFormulation::spin_adapted, true, {}, has_sample).sizes.particles;
  };
  EXPECT_EQ(particle_size(20, 200, true), 24);  // 165 tasks instead of 84
  EXPECT_EQ(particle_size(20, 200, false), 32);
  EXPECT_EQ(particle_size(20, 300, true), 32);  // 220 tasks
  EXPECT_EQ(particle_size(40, 200, true), 32);
}

}
}
