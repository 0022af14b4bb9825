#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/thread_communicator.hpp"

/// GPUs of several ranks, here threads, that keep packed panels for each other.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class NeighbourGpus : public OnGpu {
 protected:
  static constexpr int ranks = 3;

  /// What each rank found and did. They take the GPUs that there are in turn, so even one is three neighbours.
  static std::vector<CalculationResult> results_of_ranks(const TileSource& source, const TileSource* left,
                                                         CalculationOptions options) {
    const int gpus = static_cast<int>(visible_devices().size());
    std::vector<CalculationResult> results(ranks);
    const auto failures = failures_of_ranks(
        ranks,
        [&](Communicator& communicator) {
          CalculationOptions mine = options;
          mine.devices = {communicator.rank() % gpus};
          Calculation calculation(source, left, mine);
          calculation.join(communicator, TeamShare{TeamShare::Role::worker, 1.0, static_cast<double>(ranks), 1});
          results[static_cast<std::size_t>(communicator.rank())] = calculation.run();
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(ranks));
    return results;
  }
  static CalculationOptions on_gpu(SpinFormulation formulation, std::int64_t memory) {
    CalculationOptions options = options_for(formulation, 8);
    options.executor = ExecutorKind::cuda;
    options.devices = {0};
    options.memory = memory;
    return options;
  }
};

TEST_F(NeighbourGpus, GiveTheBitsOfOneAlone) {
  std::vector<OwnedProblem> problems;
  problems.emplace_back(closed_shell(8, 60), SpinFormulation::spin_adapted);
  problems.emplace_back(closed_shell(6, 40), SpinFormulation::spin_adapted, true);
  problems.emplace_back(open_shell(Reference::uhf, {7, 6, 24, 20}, 2), SpinFormulation::spin_orbital, true);
  for (const OwnedProblem& owned : problems) {
    SCOPED_TRACE(to_string(owned.problem.formulation));
    const CalculationOptions options = on_gpu(owned.problem.formulation, 4096 * mebibyte);
    const CalculationResult alone = calculate(*owned.right, options, owned.left.get());
    EXPECT_EQ(alone.cuda->panels_kept, 0);
    EXPECT_EQ(alone.cuda->panels_from_neighbours, 0);
    std::int64_t kept = 0, copied = 0;
    for (const CalculationResult& result : results_of_ranks(*owned.right, owned.left.get(), options)) {
      EXPECT_EQ(numbers_of(result), numbers_of(alone));
      // Each panel goes to its home once, and nobody has one sent that a neighbour keeps.
      EXPECT_EQ(result.cuda->panels_sent, 0);
      kept += result.cuda->panels_kept;
      copied += result.cuda->bytes_from_neighbours;
    }
    EXPECT_EQ(kept, alone.cuda->panels_sent);
    EXPECT_GT(copied, 0);
  }
}

TEST_F(NeighbourGpus, MayHaveLittleMemory) {
  const OwnedProblem owned(closed_shell(16, 90), SpinFormulation::spin_adapted);
  CalculationOptions options = on_gpu(SpinFormulation::spin_adapted, 4096 * mebibyte);
  const std::vector<double> expected = numbers_of(calculate(*owned.right, options));
  const std::int64_t least = least_budget(owned.problem, Calculation(*owned.right, nullptr, options).plan().tiles);
  bool dropped = false, kept_none = false;
  for (const int more : {0, 20, 40, 60, 80, 100, 120, 400}) {
    SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
    options.memory = least + more * mebibyte;
    for (const CalculationResult& result : results_of_ranks(*owned.right, nullptr, options)) {
      // In tiles that are cut sums have another order.
      EXPECT_LT(relative_difference(numbers_of(result), expected), 1e-12);
      dropped = dropped || (result.cuda->panels_kept > 0 && result.cuda->panels_evicted > 0);
      kept_none = kept_none || result.cuda->panels_kept == 0;
    }
  }
  EXPECT_TRUE(dropped) << "panels were dropped beside those that stay";
  EXPECT_TRUE(kept_none) << "there was no room to keep any";
}

}  // namespace
}  // namespace trifuse
