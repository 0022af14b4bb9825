#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "cxx/prediction/prediction.hpp"
#include "tce_tiles/factors_of_ranks.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

TEST(PeakMemoryOfARank, ContainsTheFactorsThatRanksExchange) {
  const MachineModel machine = machine_model("h200");
  // The part of a rank is smaller than the limit of the exchange, or larger.
  for (const std::int64_t auxiliary : {4000, 20000}) {
    SyntheticMolecule molecule = closed_shell(24, 30);
    molecule.auxiliary = auxiliary;
    const auto source = make_synthetic_source(molecule);
    Problem problem;
    problem.formulation = SpinFormulation::spin_adapted;
    problem.right = source.get();
    const Plan plan = make_plan(source->tiles().retiled(8, 10), problem.formulation);
    const Inspection inspection(plan, problem);
    const double factors = 8.0 * static_cast<double>(auxiliary) * (24 * 25 / 2 + 24 * 30);
    const auto rest_of_peak = [&](int ranks, JobShape::Operands operands, double exchanged) {
      JobShape job;
      job.gpus = 0;
      job.ranks = ranks;
      job.operands = operands;
      const Prediction found = predict(plan, problem, inspection, machine, job);
      EXPECT_EQ(found.factor_bytes, factors);
      return found.peak_bytes - found.operand_bytes - factors - exchanged;
    };
    using enum JobShape::Operands;
    const double alone = rest_of_peak(1, automatic, 0.0);
    EXPECT_GT(alone, 0.0);
    EXPECT_NEAR(rest_of_peak(3, own, 0.0), alone, 1.0);
    for (const int ranks : {2, 3, 16}) {
      const double exchanged = std::min<double>(exchanged_factor_bytes, factors / ranks);
      EXPECT_NEAR(rest_of_peak(ranks, shared, exchanged), alone, 1.0) << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace trifuse::testing
