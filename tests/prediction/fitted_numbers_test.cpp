// The kernel's numbers of the H200 are fitted to measured runs. These tests repeat the fit.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/prediction/timed_runs.hpp"

namespace trifuse::testing {
namespace {

/// The numbers that are fitted for one kernel: the rate of products, operations per second, and the seconds of a
/// multiprocessor for a target.
struct KernelNumbers {
  double rate, target;
};

/// A kernel, and where the model has its numbers.
struct FittedKernel {
  SpinFormulation formulation;
  Precision precision;
  double MachineModel::*rate, MachineModel::*target;
  bool fits_rate, fits_target;  ///< false: the number was measured by itself
  const char* name;

  KernelNumbers numbers() const {
    const MachineModel machine = machine_model("h200");
    return {machine.*rate, machine.*target};
  }
  MachineModel machine_with(const KernelNumbers& numbers) const {
    MachineModel machine = machine_model("h200");
    machine.*rate = numbers.rate;
    machine.*target = numbers.target;
    return machine;
  }
};

using enum SpinFormulation;
using M = MachineModel;
// In double precision the time for a target in spin-orbital form was measured by itself, in mixed precision the rate of
// the products.
constexpr FittedKernel double_spin_orbital{
    spin_orbital, Precision::fp64, &M::rate_spin_orbital, &M::target_spin_orbital, true, false, "SpinOrbital"};
constexpr FittedKernel double_spin_adapted{
    spin_adapted, Precision::fp64, &M::rate_spin_adapted, &M::target_spin_adapted, true, true, "SpinAdapted"};
constexpr FittedKernel mixed_spin_orbital{
    spin_orbital, Precision::mixed,  &M::mixed_rate_spin_orbital, &M::mixed_target_spin_orbital, false,
    true,         "MixedSpinOrbital"};
constexpr FittedKernel mixed_spin_adapted{
    spin_adapted, Precision::mixed,  &M::mixed_rate_spin_adapted, &M::mixed_target_spin_adapted, false,
    true,         "MixedSpinAdapted"};

/// Seconds of all launches of the kernel, without the sample of mixed precision.
double kernel_seconds(const FittedKernel& kernel, const PredictedTasks& tasks, const KernelNumbers& numbers) {
  const MachineModel machine = kernel.machine_with(numbers);
  double seconds = 0.0;
  for (std::size_t t = 0; t < tasks.inspection().tasks(); ++t) {
    seconds += machine.kernel_seconds(tasks.inspection().work(t), kernel.formulation, kernel.precision);
  }
  return seconds;
}

/// A measured run as an equation: measured = operations / rate + targets * target + rest. In mixed precision the sample
/// is a part of the rest.
class RunEquation {
 public:
  RunEquation(const FittedKernel& kernel, const TimedRun& run) : kernel_(kernel), run_(run), tasks_(run) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double zeros = kernel_seconds(kernel, tasks_, {infinite, 0.0});
    operations = kernel_seconds(kernel, tasks_, {1.0, 0.0}) - zeros;
    targets = kernel_seconds(kernel, tasks_, {infinite, 1.0}) - zeros;
    rest = tasks_.predict(run).seconds_of_tasks() - kernel_seconds(kernel, tasks_, kernel.numbers()) + zeros;
  }
  const TimedRun& run() const { return run_; }
  /// Seconds of all tasks that the whole model predicts with these numbers.
  double predicted(const KernelNumbers& numbers) const {
    return tasks_.predict(run_, kernel_.machine_with(numbers)).seconds_of_tasks();
  }

  double operations = 0.0, targets = 0.0, rest = 0.0;

 private:
  FittedKernel kernel_;
  TimedRun run_;
  PredictedTasks tasks_;
};

/// The numbers with the least sum of squares of relative errors. `without`: the run that is left out; equations.size():
/// none.
KernelNumbers fit(const FittedKernel& kernel, const std::vector<RunEquation>& equations, std::size_t without) {
  const KernelNumbers known = kernel.numbers();
  double xx = 0.0, xy = 0.0, yy = 0.0, xz = 0.0, yz = 0.0;
  for (std::size_t n = 0; n < equations.size(); ++n) {
    if (n == without) continue;
    const RunEquation& e = equations[n];
    const double seconds = e.run().seconds;
    const double x = e.operations / seconds, y = e.targets / seconds, z = 1.0 - e.rest / seconds;
    xx += x * x;
    xy += x * y;
    yy += y * y;
    xz += x * z;
    yz += y * z;
  }
  if (!kernel.fits_target) return {xx / (xz - xy * known.target), known.target};
  if (!kernel.fits_rate) return {known.rate, (yz - xy / known.rate) / yy};
  const double determinant = xx * yy - xy * xy;
  return {determinant / (xz * yy - yz * xy), (xx * yz - xy * xz) / determinant};
}

class FittedNumbers : public ::testing::TestWithParam<FittedKernel> {
 protected:
  FittedNumbers() {
    for (const TimedRun& run : GetParam().precision == Precision::mixed ? fitted_mixed_runs() : fitted_runs()) {
      if (run.formulation == GetParam().formulation) equations_.emplace_back(GetParam(), run);
    }
  }
  std::vector<RunEquation> equations_;
};

TEST_P(FittedNumbers, AreThoseOfTheModel) {
  const KernelNumbers model = GetParam().numbers(), found = fit(GetParam(), equations_, equations_.size());
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
    EXPECT_NEAR(equations_[n].predicted(fit(GetParam(), equations_, n)), run.seconds, promised * run.seconds)
        << describe(run);
  }
  EXPECT_GE(left_out, GetParam().precision == Precision::mixed ? 2 : 3);
}

std::string name_of(const ::testing::TestParamInfo<FittedKernel>& test) {
  return test.param.name;
}
INSTANTIATE_TEST_SUITE_P(Of, FittedNumbers,
                         ::testing::Values(double_spin_orbital, double_spin_adapted, mixed_spin_orbital,
                                           mixed_spin_adapted),
                         name_of);

}
}
