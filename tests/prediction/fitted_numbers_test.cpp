// The kernel's numbers of the H200 are fitted to measured runs. These tests repeat the fit.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/prediction/timed_runs.hpp"

namespace trifuse::testing {
namespace {

/// The numbers that are fitted for one spin formulation: the rate of products, operations per second, and the seconds
/// of a multiprocessor for a target. In spin-orbital form the second one was measured and not fitted.
struct KernelNumbers {
  double rate, target;
};

KernelNumbers kernel_numbers(const MachineModel& machine, SpinFormulation formulation) {
  if (formulation == SpinFormulation::spin_adapted) return {machine.rate_spin_adapted, machine.target_spin_adapted};
  return {machine.rate_spin_orbital, machine.target_spin_orbital};
}

MachineModel machine_with(const KernelNumbers& numbers, SpinFormulation formulation) {
  MachineModel machine = machine_model("h200");
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  (adapted ? machine.rate_spin_adapted : machine.rate_spin_orbital) = numbers.rate;
  (adapted ? machine.target_spin_adapted : machine.target_spin_orbital) = numbers.target;
  return machine;
}

/// Seconds of all kernels.
double kernel_seconds(const PredictedTasks& tasks, const KernelNumbers& numbers) {
  const MachineModel machine = machine_with(numbers, tasks.formulation());
  double seconds = 0.0;
  for (std::size_t t = 0; t < tasks.inspection().tasks(); ++t) {
    seconds += machine.kernel_seconds(tasks.inspection().work(t), tasks.formulation());
  }
  return seconds;
}

/// A measured run as an equation: measured = operations / rate + targets * target + rest.
class RunEquation {
 public:
  explicit RunEquation(const TimedRun& run) : run_(run), tasks_(run) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double zeros = kernel_seconds(tasks_, {infinite, 0.0});
    operations = kernel_seconds(tasks_, {1.0, 0.0}) - zeros;
    targets = kernel_seconds(tasks_, {infinite, 1.0}) - zeros;
    const Simulation simulated = tasks_.predict(run).tasks;
    rest = simulated.seconds - simulated.gpu_busy + zeros;
  }
  const TimedRun& run() const { return run_; }
  /// Seconds of all tasks that the whole model predicts with these numbers.
  double predicted(const KernelNumbers& numbers) const {
    return tasks_.predict(run_, machine_with(numbers, run_.formulation)).tasks.seconds;
  }

  double operations = 0.0, targets = 0.0, rest = 0.0;

 private:
  TimedRun run_;
  PredictedTasks tasks_;
};

/// The numbers with the least sum of squares of relative errors. `without`: the run that is left out; equations.size():
/// none.
KernelNumbers fit(const std::vector<RunEquation>& equations, std::size_t without) {
  const SpinFormulation formulation = equations.front().run().formulation;
  const bool with_target = formulation == SpinFormulation::spin_adapted;
  const double known_target = kernel_numbers(machine_model("h200"), formulation).target;
  double xx = 0.0, xy = 0.0, yy = 0.0, xz = 0.0, yz = 0.0;
  for (std::size_t n = 0; n < equations.size(); ++n) {
    if (n == without) continue;
    const RunEquation& e = equations[n];
    const double seconds = e.run().seconds;
    const double x = e.operations / seconds, y = e.targets / seconds;
    const double z = 1.0 - e.rest / seconds - (with_target ? 0.0 : y * known_target);
    xx += x * x;
    xy += x * y;
    yy += y * y;
    xz += x * z;
    yz += y * z;
  }
  if (!with_target) return {xx / xz, known_target};
  const double determinant = xx * yy - xy * xy;
  return {determinant / (xz * yy - yz * xy), (xx * yz - xy * xz) / determinant};
}

class FittedNumbers : public ::testing::TestWithParam<SpinFormulation> {
 protected:
  FittedNumbers() {
    for (const TimedRun& run : fitted_runs()) {
      if (run.formulation == GetParam()) equations_.emplace_back(run);
    }
  }
  std::vector<RunEquation> equations_;
};

TEST_P(FittedNumbers, AreThoseOfTheModel) {
  const KernelNumbers model = kernel_numbers(machine_model("h200"), GetParam()),
                      found = fit(equations_, equations_.size());
  EXPECT_NEAR(found.rate, model.rate, 0.03 * model.rate);
  EXPECT_NEAR(found.target, model.target, 0.05 * model.target);
}

// Each run is predicted with numbers that were fitted to the other runs only. The only run of its number of irreps is
// not left out, because runs with 8 irreps do not determine the time of a run without symmetry.
TEST_P(FittedNumbers, PredictARunThatIsLeftOut) {
  const auto same_irreps = [this](const TimedRun& run) {
    return std::count_if(equations_.begin(), equations_.end(),
                         [&](const RunEquation& e) { return e.run().molecule.irreps == run.molecule.irreps; });
  };
  int left_out = 0;
  for (std::size_t n = 0; n < equations_.size(); ++n) {
    const TimedRun& run = equations_[n].run();
    if (same_irreps(run) < 2) continue;
    ++left_out;
    EXPECT_NEAR(equations_[n].predicted(fit(equations_, n)), run.seconds, promised * run.seconds) << describe(run);
  }
  EXPECT_GE(left_out, 3);
}

INSTANTIATE_TEST_SUITE_P(Of, FittedNumbers,
                         ::testing::Values(SpinFormulation::spin_orbital, SpinFormulation::spin_adapted),
                         [](const auto& test) {
                           return test.param == SpinFormulation::spin_orbital ? "SpinOrbital" : "SpinAdapted";
                         });

}  // namespace
}  // namespace trifuse::testing
