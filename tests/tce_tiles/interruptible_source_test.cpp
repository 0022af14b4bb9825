#include "tce_tiles/tiles/interruptible_source.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::testing {
namespace {

TEST(InterruptibleSource, ReadsUntilTheRunIsStopped) {
  SyntheticMolecule molecule{Reference::rhf, 3, 3, 5, 5, 1, 3, 5, 1};
  molecule.auxiliary = 12;
  const auto source = make_synthetic_source(molecule);
  std::atomic<bool> stop{false};
  const InterruptibleSource interruptible(*source, stop);
  const FactorSource& factors = *interruptible.factors();
  EXPECT_EQ(factors.auxiliary(), 12);
  const ClassOrbitals holes{OrbitalClass::hole_alpha, 0, 3}, particles{OrbitalClass::particle_alpha, 1, 4};
  std::vector<double> oo(3 * 3 * 12), ov(3 * 4 * 12), vv(4 * 12 * 4), found_oo(oo.size()), found_ov(ov.size()),
      found_vv(vv.size()), block(5 * 5 * 3 * 3);
  source->factors()->read_oo(holes, holes, oo);
  source->factors()->read_ov(holes, particles, ov);
  const auto read_vv = [&](const FactorSource& of, std::vector<double>& out) {
    const FactorSlab slab{particles, particles, out};
    read_slabs(of, std::span(&slab, 1), 2);
  };
  read_vv(*source->factors(), vv);
  EXPECT_NE(factors.acquire_factors(nullptr), nullptr);
  factors.read_oo(holes, holes, found_oo);
  factors.read_ov(holes, particles, found_ov);
  read_vv(factors, found_vv);
  EXPECT_EQ(found_oo, oo);
  EXPECT_EQ(found_ov, ov);
  EXPECT_EQ(found_vv, vv);
  const int p = source->tiles().hole_tiles();
  interruptible.read_t2(p, p, 0, 0, block);
  stop = true;
  EXPECT_THROW(factors.acquire_factors(nullptr), Interrupted);
  EXPECT_THROW(factors.read_oo(holes, holes, found_oo), Interrupted);
  EXPECT_THROW(factors.read_ov(holes, particles, found_ov), Interrupted);
  EXPECT_THROW(read_vv(factors, found_vv), Interrupted);
  EXPECT_THROW(interruptible.read_t2(p, p, 0, 0, block), Interrupted);
}

TEST(InterruptibleSource, HasNoFactorsIfTheSourceHasNone) {
  const auto source = make_synthetic_source({Reference::rhf, 3, 3, 5, 5, 1, 3, 5, 1});
  const std::atomic<bool> stop{false};
  EXPECT_EQ(InterruptibleSource(*source, stop).factors(), nullptr);
}

}
}
