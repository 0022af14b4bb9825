#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/derivatives.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"

/// Sums of derivative times operand (Euler), which are compared with the energies after every run.
namespace trifuse::testing {
namespace {

TEST(DerivativesOfTheReferenceExecutor, EqualThoseOfCores) {
  for (const SyntheticMolecule& molecule : {closed_shell(3, 5), open_shell(Reference::uhf, {3, 2, 4, 5})}) {
    const ArraysOfMolecule arrays(molecule, HeldArrays::Layout::c_order);
    for (const Derivatives kind : {Derivatives::amplitudes, Derivatives::all}) {
      CalculationOptions options = options_for();
      options.derivatives = kind;
      const CalculationResult cores = calculate(arrays.source(), options);
      options.executor = ExecutorKind::reference;
      const CalculationResult reference = calculate(arrays.source(), options);
      ASSERT_EQ(reference.derivatives.size(), cores.derivatives.size());
      for (std::size_t n = 0; n < cores.derivatives.size(); ++n) {
        const NamedDerivative &found = cores.derivatives[n], &expected = reference.derivatives[n];
        EXPECT_EQ(found.name, expected.name);
        EXPECT_EQ(found.shape, expected.shape);
        double largest = 0.0;
        for (const double x : expected.values) largest = std::max(largest, std::abs(x));
        EXPECT_GT(largest, 0.0) << found.name;
        for (std::size_t at = 0; at < found.values.size(); ++at)
          ASSERT_NEAR(found.values[at], expected.values[at], 1e-10 * largest + 1e-15) << found.name << ' ' << at;
      }
    }
  }
}

/// A run with derivatives, and the check of its derivatives after a change.
class CheckedRun {
 public:
  CheckedRun(const TileSource& source, const CalculationOptions& options)
      : calculation_(source, nullptr, options),
        result_(calculation_.run()),
        problem_(calculation_.problem()),
        layout_(problem_, cpu_panel_tiles(calculation_.plan().tiles)) {}

  /// Checks the derivatives, of which those by array `changed` are multiplied by `factor`. Returns the largest error of
  /// a sum.
  double check(const std::string& changed, double factor, Precision precision) const {
    std::vector<NamedDerivative> derivatives = result_.derivatives;
    for (NamedDerivative& derivative : derivatives) {
      if (derivative.name != changed) continue;
      for (double& value : derivative.values) value *= factor;
    }
    return check_derivatives(problem_, layout_, derivatives, result_.energies.front().total, precision, 1);
  }
  void expect_error(const std::string& changed, const std::string& sum, double factor,
                    Precision precision = Precision::fp64) const {
    EXPECT_LT(check(changed, 1.0, precision), 1e-10);
    expect_failure<Error>([&] { check(changed, factor, precision); }, "the sum over " + sum + " is");
  }

 private:
  const Calculation calculation_;
  const CalculationResult result_;
  const Problem problem_;
  const PanelLayout layout_;
};

class CheckedDerivatives : public ::testing::TestWithParam<double> {
 protected:
  explicit CheckedDerivatives() {
    options.derivatives = Derivatives::all;
    options.omega2 = {GetParam()};
    options.tile_size = 2;
  }

  const ArraysOfMolecule arrays{closed_shell(6, 11), HeldArrays::Layout::c_order};
  CalculationOptions options = options_for();
};

TEST_P(CheckedDerivatives, AreWrongIfAnArrayIs) {
  constexpr double factor = 1.0001;
  const CheckedRun run(arrays.source(), options);
  run.expect_error("ovvv", "ovvv and ovoo", factor);
  run.expect_error("t2", "t2", factor);
  run.expect_error("ovov", "ovov", factor);
  if (GetParam() > 0.0) run.expect_error("omega2", "the orbital energies", factor);
  run.expect_error("eps_occ", "the orbital energies", factor);
}

// Errors of mixed precision are returned, larger ones are not accepted.
TEST_P(CheckedDerivatives, MayHaveSmallErrorsInMixedPrecision) {
  const CheckedRun run(arrays.source(), options);
  for (const auto& [changed, sum] : {std::pair{"ovvv", "ovvv and ovoo"}, {"t2", "t2"}}) {
    run.expect_error(changed, sum, 1.001, Precision::mixed);
    const double error = run.check(changed, 1.0 + 1e-7, Precision::mixed);
    EXPECT_GT(error, 1e-10) << changed;
    EXPECT_LT(error, 1e-7) << changed;
  }
}

INSTANTIATE_TEST_SUITE_P(For, CheckedDerivatives, ::testing::Values(0.0, 0.3));

/// All derivatives are small then, but the roundings are not.
class CheckedDerivativesForALargeOmega2 : public CheckedDerivatives {};

TEST_P(CheckedDerivativesForALargeOmega2, AreWrongIfAnArrayIs) {
  constexpr double factor = 2.0;
  const CheckedRun run(arrays.source(), options);
  run.expect_error("ovvv", "ovvv and ovoo", factor);
  run.expect_error("t2", "t2", factor);
  options.tile_size.reset();  // fewer tasks, which round less
  CheckedRun(arrays.source(), options).expect_error("omega2", "the orbital energies", factor);
}

INSTANTIATE_TEST_SUITE_P(For, CheckedDerivativesForALargeOmega2, ::testing::Values(1e6));

}
}
