#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::testing {
namespace {

std::vector<TaskEnergy> energies_of(const Problem& problem, const Plan& plan, Precision precision) {
  const auto executor = prepare_cpu_executor(problem, plan.tiles, {}, 1, precision);
  executor->take_panels(std::make_shared<PanelStore>(problem, executor->panel_tiles()));
  std::vector<TaskEnergy> energies(plan.tasks.size());
  executor->make_worker()->execute(plan.tasks, energies);
  return energies;
}

// The self-test of a GPU compares each energy of a task of such a molecule with that of the CPU, relative to the sum of
// both energies of the task. Its limit in mixed precision is self_test_limit(), 1e-5 (self_test.cpp).
TEST(MixedPrecision, OfTheMoleculeOfTheSelfTestHasErrorsFarBelowItsLimit) {
  constexpr double limit = 1e-5;
  double worst = 0.0;
  for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const auto source = make_synthetic_blocks({Reference::rhf, 5, 5, 9, 9, 1, 5, 7, seed});
      Problem problem;
      problem.right = source.get();
      problem.formulation = formulation;
      const Plan plan = make_plan(source->tiles(), formulation);
      const auto exact = energies_of(problem, plan, Precision::fp64),
                 mixed = energies_of(problem, plan, Precision::mixed);
      for (std::size_t t = 0; t < exact.size(); ++t) {
        const double scale = std::abs(exact[t].same.e_paren_t) + std::abs(exact[t].mixed.e_paren_t);
        ASSERT_GT(scale, 0.0);
        worst = std::max({worst, std::abs(mixed[t].same.e_paren_t - exact[t].same.e_paren_t) / scale,
                          std::abs(mixed[t].mixed.e_paren_t - exact[t].mixed.e_paren_t) / scale});
      }
    }
  }
  EXPECT_LT(worst, limit / 10);
  EXPECT_GT(worst, limit / 1000);
}

}
}
