#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "cxx/operands/distributed_operands.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/prediction/prediction.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"
#include "tests/support/molecules.hpp"

namespace trifuse::testing {
namespace {

/// The memory of ranks that compute the triples of a closed shell.
class RanksOf {
 public:
  RanksOf(SyntheticMolecule molecule, std::int64_t holes, std::int64_t particles)
      : source_(make_synthetic_source(molecule)),
        plan_(make_plan(source_->tiles().retiled(holes, particles), SpinFormulation::spin_adapted)) {
    problem_.formulation = plan_.formulation;
    problem_.right = source_.get();
  }
  Prediction predict(int ranks, int gpus, JobShape::Operands operands = JobShape::Operands::automatic) const {
    JobShape job;
    job.ranks = ranks;
    job.gpus = gpus;
    job.operands = operands;
    return trifuse::predict(plan_, problem_, Inspection(plan_, problem_), machine_model("h200"), job);
  }
  /// Size of the panels that CPU cores make from factors.
  double made_bytes() const { return 8.0 * static_cast<double>(PanelLayout::made_doubles(problem_, plan_.tiles)); }

 private:
  std::unique_ptr<TileSource> source_;
  Plan plan_;
  Problem problem_;
};

TEST(PeakMemoryOfARank, ContainsTheFactorsThatRanksExchange) {
  // The part of a rank is smaller than the limit of the exchange, or larger.
  for (const std::int64_t auxiliary : {4000, 20000}) {
    SyntheticMolecule molecule = closed_shell(24, 30);
    molecule.auxiliary = auxiliary;
    const RanksOf job(molecule, 8, 10);
    const double pairs = 8.0 * static_cast<double>(auxiliary) * 24 * 30, factors = pairs * (1.0 + 25.0 / 60.0);
    const auto rest_of_peak = [&](int ranks, JobShape::Operands operands, double exchanged) {
      const Prediction found = job.predict(ranks, 0, operands);
      EXPECT_NEAR(found.factor_bytes, factors, 1.0);
      const double reading = found.operand_bytes + factors + exchanged,
                   computing = found.operand_bytes + found.fetched_bytes + job.made_bytes();
      // The check also stores sums of the size of the factors of ov, and ranks have their part twice for a moment.
      const double checking = factors + exchanged + pairs * (ranks > 1 ? 2.0 / ranks : 1.0);
      return found.peak_bytes - std::max({reading, computing, checking});
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

TEST(PeakMemoryOfARank, ContainsCopiesOfPanelsOfOtherRanks) {
  const RanksOf job(closed_shell(24, 60), 12, 20);
  const Prediction alone = job.predict(1, 0);
  EXPECT_EQ(alone.fetched_bytes, 0.0);
  EXPECT_EQ(job.predict(3, 0, JobShape::Operands::own).fetched_bytes, 0.0);
  for (const int ranks : {2, 3, 16}) {
    for (const int gpus : {0, ranks}) {
      const Prediction found = job.predict(ranks, gpus);
      // 16 GPUs are in two nodes. In the end a rank has all operands, its own ones and copies.
      EXPECT_NEAR(found.operand_bytes + found.fetched_bytes, alone.operand_bytes, 1.0) << ranks << " ranks";
      EXPECT_LT(found.operand_bytes, 0.51 * alone.operand_bytes);
      if (gpus == 0) {
        EXPECT_NEAR(found.peak_bytes, alone.peak_bytes, 1.0);
      }
    }
  }
  // Ranks with GPUs limit their copies. Ranks on cores have the memory of their node.
  const RanksOf large(closed_shell(40, 300), 20, 30);
  EXPECT_EQ(large.predict(2, 2).fetched_bytes, static_cast<double>(DistributedOperands::passed_bytes));
  EXPECT_GT(large.predict(2, 0).fetched_bytes, static_cast<double>(DistributedOperands::passed_bytes));
}

}
}
