#include "cxx/prediction/slab_owners.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/slab_placement.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

/// What the only GPU of a node owns.
struct OwnedSlabs {
  std::ptrdiff_t slabs;
  std::int64_t memory;
};

/// A molecule whose slabs all have padding.
class SlabLimits : public ::testing::Test {
 protected:
  SlabLimits() {
    SyntheticMolecule molecule = closed_shell(9, 21);
    molecule.auxiliary = 29;
    factors_ = make_synthetic_source(molecule);
    problem_.formulation = SpinFormulation::spin_adapted;
    problem_.right = factors_.get();
    const TileSpace tiles = factors_->tiles().retiled(3, 5);
    panels_.emplace(problem_, tiles);
    inspection_.emplace(make_plan(tiles, problem_.formulation), problem_);
  }

  OwnedSlabs in_a_run(std::int64_t limit) const {
    const gpu::PanelOwnerMap owners = gpu::PanelOwnerMap::of_slabs(*panels_, std::vector<int>{0});
    gpu::SlabPlacement placement(*panels_, 2 * owners.bytes(0));
    const auto copies = placement.own(owners.panels_of(0), limit);
    return {std::ssize(copies), placement.owned_bytes()};
  }
  OwnedSlabs predicted(std::int64_t limit) const {
    const SlabOwners owners = slab_owners(*inspection_, 1, limit);
    return {std::count(owners.owner.begin(), owners.owner.end(), 0), static_cast<std::int64_t>(owners.memory[0])};
  }

  std::unique_ptr<TileSource> factors_;
  Problem problem_;
  std::optional<PanelLayout> panels_;
  std::optional<Inspection> inspection_;
};

TEST_F(SlabLimits, AreThoseOfARun) {
  const std::int64_t all = in_a_run(INT64_MAX).memory;
  const auto slabs = static_cast<std::ptrdiff_t>(inspection_->slab_count());
  ASSERT_GE(slabs, 4);
  for (std::uint32_t slab = 0; slab < inspection_->slab_count(); ++slab) {
    const auto bytes = static_cast<std::int64_t>(inspection_->slab_bytes(slab));
    ASSERT_LT(bytes, gpu::Arena::rounded(bytes)) << "the slab has no padding";
  }
  EXPECT_EQ(in_a_run(all).slabs, slabs);
  EXPECT_EQ(predicted(all).slabs, slabs);
  EXPECT_EQ(predicted(all).memory, all);
  // One byte less: the last slab would fit, its padding does not.
  EXPECT_EQ(in_a_run(all - 1).slabs, slabs - 1);
  EXPECT_EQ(predicted(all - 1).slabs, slabs - 1);
  for (const std::int64_t nothing : {std::int64_t{-1}, std::int64_t{0}}) {
    EXPECT_EQ(in_a_run(nothing).slabs, 0);
    EXPECT_EQ(predicted(nothing).slabs, 0);
    EXPECT_EQ(predicted(nothing).memory, 0);
  }
}

TEST_F(SlabLimits, CountThePaddingOfASlab) {
  EXPECT_TRUE(gpu::owner_keeps(256, 257, 768));
  EXPECT_FALSE(gpu::owner_keeps(256, 257, 767));
  EXPECT_TRUE(gpu::owner_keeps(256, 256, 512));
  EXPECT_FALSE(gpu::owner_keeps(0, 1, 255));
}

}
}
