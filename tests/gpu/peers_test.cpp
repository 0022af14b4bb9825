#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/thread_communicator.hpp"

/// GPUs of several ranks that exchange packed panels and slabs of factors, and GPUs of one process that exchange slabs.
/// The ranks are threads here.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class PeerGpus : public OnGpu {
 protected:
  static constexpr int ranks = 3;

  /// [rank] The results. Ranks take the GPUs in turn, so that three ranks can share a single GPU.
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
          calculation.join(communicator,
                           RankAssignment{RankAssignment::Role::worker, 1.0, static_cast<double>(ranks), 1});
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

TEST_F(PeerGpus, GiveTheBitsOfOneAlone) {
  std::vector<OwnedProblem> problems;
  problems.emplace_back(closed_shell(8, 60), SpinFormulation::spin_adapted);
  problems.emplace_back(closed_shell(6, 40), SpinFormulation::spin_adapted, true);
  problems.emplace_back(open_shell(Reference::uhf, {7, 6, 24, 20}, 2), SpinFormulation::spin_orbital, true);
  for (const OwnedProblem& owned : problems) {
    SCOPED_TRACE(to_string(owned.problem.formulation));
    const CalculationOptions options = on_gpu(owned.problem.formulation, 4096 * mebibyte);
    const CalculationResult alone = calculate(*owned.right, options, owned.left.get());
    EXPECT_EQ(alone.device_report->panels_owned, 0);
    EXPECT_EQ(alone.device_report->panels_from_peers, 0);
    std::int64_t owned_panels = 0, copied = 0;
    for (const CalculationResult& result : results_of_ranks(*owned.right, owned.left.get(), options)) {
      EXPECT_EQ(numbers_of(result), numbers_of(alone));
      // The host sends each panel once, to its owner.
      EXPECT_EQ(result.device_report->panels_sent, 0);
      owned_panels += result.device_report->panels_owned;
      copied += result.device_report->bytes_from_peers;
    }
    EXPECT_EQ(owned_panels, alone.device_report->panels_sent);
    EXPECT_GT(copied, 0);
  }
}

TEST_F(PeerGpus, ExchangeSlabsOfFactors) {
  struct Case {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    bool two_sided;
  };
  for (const Case& each : {Case{closed_shell(8, 60), SpinFormulation::spin_adapted, false},
                           Case{open_shell(Reference::uhf, {7, 6, 24, 20}, 2), SpinFormulation::spin_orbital, true}}) {
    SCOPED_TRACE(to_string(each.formulation));
    const FactoredProblem problem(each.molecule, each.formulation, each.two_sided, 70);
    const CalculationOptions options = on_gpu(each.formulation, 4096 * mebibyte);
    const CalculationResult alone = calculate(problem.with_factors, options, problem.left.get());
    EXPECT_EQ(alone.device_report->slabs_owned, 0);
    EXPECT_EQ(alone.device_report->slabs_from_peers, 0);
    std::int64_t sent = 0, owned = 0, from_peers = 0;
    for (const CalculationResult& result : results_of_ranks(problem.with_factors, problem.left.get(), options)) {
      EXPECT_EQ(numbers_of(result), numbers_of(alone));
      sent += result.device_report->slabs_sent;
      owned += result.device_report->slabs_owned;
      from_peers += result.device_report->slabs_from_peers;
    }
    // The host sends each slab once, to its owner. A GPU alone may need fewer slabs than exist.
    EXPECT_EQ(sent, owned);
    EXPECT_GE(owned, alone.device_report->slabs_sent);
    EXPECT_GT(from_peers, 0);
    EXPECT_LE(from_peers, (ranks - 1) * owned);
  }
}

// A device that is named twice stands for two GPUs.
TEST_F(PeerGpus, OfOneProcessExchangeSlabsThatDoNotFit) {
  const FactoredProblem problem(closed_shell(8, 60), SpinFormulation::spin_adapted, false, 1500);
  const Plan plan = make_plan(problem.with_factors.tiles().retiled(4, 8), SpinFormulation::spin_adapted);
  const std::int64_t roomy = 2048 * mebibyte, narrow = least_budget(problem.of_factors, plan.tiles) + 50 * mebibyte;
  CudaOptions options = with_memory(roomy);
  options.waits_for_memory = false;
  const auto alone = make_cuda_executor(problem.of_factors, plan.tiles, options);
  const auto expected = batch_numbers(*alone, plan, 1);
  options.devices.push_back(visible_devices().size() > 1 ? 1 : 0);
  for (const std::int64_t memory : {roomy, narrow}) {
    SCOPED_TRACE(memory == roomy ? "all slabs fit" : "they do not fit");
    options.memory_per_device = memory;
    const auto both = make_cuda_executor(problem.of_factors, plan.tiles, options);
    ASSERT_TRUE(both->panel_tiles() == plan.tiles);
    for (const auto& found : numbers_of_all_workers(*both, plan, 1)) EXPECT_EQ(found, expected);
    const DeviceReport report = *both->device_report();
    if (memory == roomy) {
      EXPECT_EQ(report.slabs_owned, 0);
      EXPECT_EQ(report.slabs_from_peers, 0);
      EXPECT_LE(report.slabs_sent, 2 * alone->device_report()->slabs_sent)
          << "the host sends each slab once to each GPU";
      continue;
    }
    if (report.slabs_owned == 0) GTEST_SKIP() << "the GPUs cannot read each other's memory";
    EXPECT_GT(report.slabs_from_peers, 0);
    EXPECT_GE(report.slabs_sent, report.slabs_owned);
  }
}

TEST_F(PeerGpus, MayHaveLittleMemory) {
  const OwnedProblem owned(closed_shell(16, 90), SpinFormulation::spin_adapted);
  CalculationOptions options = on_gpu(SpinFormulation::spin_adapted, 4096 * mebibyte);
  const std::vector<double> expected = numbers_of(calculate(*owned.right, options));
  const std::int64_t least = least_budget(owned.problem, Calculation(*owned.right, nullptr, options).plan().tiles);
  bool dropped = false, none_owned = false;
  for (const int more : {0, 20, 40, 60, 80, 100, 120, 400}) {
    SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
    options.memory = least + more * mebibyte;
    for (const CalculationResult& result : results_of_ranks(*owned.right, nullptr, options)) {
      // If orbital tiles are cut, sums have another order.
      EXPECT_LT(relative_difference(numbers_of(result), expected), 1e-12);
      dropped = dropped || (result.device_report->panels_owned > 0 && result.device_report->panels_evicted > 0);
      none_owned = none_owned || result.device_report->panels_owned == 0;
    }
  }
  EXPECT_TRUE(dropped) << "no panels were evicted beside owned ones";
  EXPECT_TRUE(none_owned) << "there was always room for owned panels";
}

}
}
