#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/gpu_test_support.hpp"

/// GPUs that keep packed panels for each other.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class NeighbourGpus : public OnGpu {
 protected:
  /// The GPU twice, as if it were two, and, where there are more, the first two.
  static std::vector<std::vector<int>> pairs() {
    std::vector<std::vector<int>> pairs = {{0, 0}};
    if (visible_devices().size() > 1) pairs.push_back({0, 1});
    return pairs;
  }
  static std::vector<OwnedProblem> problems() {
    std::vector<OwnedProblem> problems;
    problems.emplace_back(closed_shell(8, 40), Form::spin_adapted);
    problems.emplace_back(closed_shell(6, 24), Form::spin_adapted, true);
    problems.emplace_back(open_shell(Reference::uhf, {7, 6, 24, 20}, 2), Form::spin_orbital, true);
    return problems;
  }
};

TEST_F(NeighbourGpus, GiveTheBitsOfOneAlone) {
  for (const OwnedProblem& owned : problems()) {
    SCOPED_TRACE(to_string(owned.problem.form));
    const Plan plan = make_plan(owned.right->tiles().retiled(4, 8), owned.problem.form);
    const auto alone = make_cuda_executor(owned.problem, plan.tiles, with_memory(4096 * mebibyte));
    const auto expected = batch_numbers(*alone, plan, 1);
    const CudaReport without = alone->report();
    EXPECT_EQ(without.panels_from_neighbours, 0);
    EXPECT_EQ(without.panels_kept, 0);
    for (const std::vector<int>& devices : pairs()) {
      CudaOptions options = with_memory(4096 * mebibyte);
      options.devices = devices;
      const auto executor = make_cuda_executor(owned.problem, plan.tiles, options);
      // Every worker does everything, so both GPUs see all panels.
      for (const auto& found : numbers_of_all_workers(*executor, plan, 1)) EXPECT_EQ(found, expected);
      const CudaReport report = executor->report();
      // What one alone is sent is sent once, to its home, and from there to the other.
      EXPECT_EQ(report.panels_kept, without.panels_sent);
      EXPECT_EQ(report.panels_sent, 0);
      EXPECT_EQ(report.panels_from_neighbours, without.panels_sent);
      EXPECT_EQ(report.bytes_sent, without.bytes_sent);
      EXPECT_GT(report.bytes_from_neighbours, 0);
    }
  }
}

TEST_F(NeighbourGpus, MayHaveLittleMemory) {
  const OwnedProblem owned(closed_shell(16, 90), Form::spin_adapted);
  const Plan plan = make_plan(owned.right->tiles().retiled(4, 8), owned.problem.form);
  const auto expected =
      batch_numbers(*make_cuda_executor(owned.problem, plan.tiles, with_memory(4096 * mebibyte)), plan, 1);
  const std::int64_t least = least_budget(owned.problem, plan.tiles);
  bool dropped = false, kept_none = false;
  for (const int more : {0, 60, 80, 100, 120, 140, 400}) {
    for (const std::vector<int>& devices : pairs()) {
      SCOPED_TRACE(std::to_string(more) + " MiB more than needed");
      CudaOptions options = with_memory(least + more * mebibyte);
      options.devices = devices;
      const auto executor = make_cuda_executor(owned.problem, plan.tiles, options);
      // Every GPU gets a worker in its turn. In tiles that are cut sums have another order.
      for (std::size_t n = 0; n < devices.size(); ++n) {
        expect_same_energies(batch_numbers(*executor, plan, 1), expected, 1);
      }
      const CudaReport report = executor->report();
      dropped = dropped || (report.panels_kept > 0 && report.panels_evicted > 0);
      kept_none = kept_none || report.panels_kept == 0;
    }
  }
  EXPECT_TRUE(dropped) << "panels were dropped beside those that stay";
  EXPECT_TRUE(kept_none) << "there was no room to keep any";
}

}  // namespace
}  // namespace trifuse
