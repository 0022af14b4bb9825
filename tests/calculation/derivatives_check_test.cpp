#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/derivatives.hpp"
#include "cxx/calculation/made_derivatives.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_derivatives.hpp"
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
      const auto expected = arrays_of(*reference.derivatives), found = arrays_of(*cores.derivatives);
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [name, values] : expected) {
        double largest = 0.0;
        for (const double x : values) largest = std::max(largest, std::abs(x));
        EXPECT_GT(largest, 0.0) << name;
        ASSERT_EQ(found.at(name).size(), values.size()) << name;
        for (std::size_t at = 0; at < values.size(); ++at)
          ASSERT_NEAR(found.at(name)[at], values[at], 1e-10 * largest + 1e-15) << name << ' ' << at;
      }
    }
  }
}

/// Inputs of all kinds of arrays.
std::vector<SyntheticMolecule> molecules() {
  return {closed_shell(3, 5), open_shell(Reference::uhf, {3, 2, 4, 5})};
}

TEST(CopiedDerivatives, AreThoseOfTheWholeArrayInEverySlice) {
  for (const SyntheticMolecule& molecule : molecules()) {
    const ArraysOfMolecule arrays(molecule, HeldArrays::Layout::c_order);
    CalculationOptions options = options_for();
    options.derivatives = Derivatives::all;
    options.tile_size = 2;  // slices do not end where tiles do
    const CalculationResult result = calculate(arrays.source(), options);
    for (const auto& [name, whole] : arrays_of(*result.derivatives)) {
      const DerivativeArrays::Array& array = result.derivatives->find(name);
      ASSERT_EQ(array.size(), std::ssize(whole));
      const std::int64_t of_slice = array.size() / array.slices();
      for (std::int64_t first = 0; first <= array.slices(); ++first) {
        for (std::int64_t count = 0; count <= array.slices() - first; ++count) {
          const auto begin = whole.begin() + first * of_slice;
          std::vector<double> slice(static_cast<std::size_t>(count * of_slice), 1e300);
          result.derivatives->copy(name, first, count, slice);
          ASSERT_EQ(slice, std::vector<double>(begin, begin + count * of_slice))
              << name << ' ' << first << ' ' << count;
        }
      }
    }
  }
}

TEST(CopiedDerivatives, AreRefusedOutsideOfTheirArray) {
  const ArraysOfMolecule arrays(closed_shell(3, 5), HeldArrays::Layout::c_order);
  CalculationOptions options = options_for();
  options.derivatives = Derivatives::amplitudes;
  const CalculationResult result = calculate(arrays.source(), options);
  const auto expect_refusal = [&](const std::string& name, std::int64_t first, std::int64_t count, std::size_t size,
                                  const std::string& sentence) {
    std::vector<double> values(size);
    expect_failure<UsageError>([&] { result.derivatives->copy(name, first, count, values); }, sentence);
  };
  expect_refusal("ovvv", 0, 1, 125, "The last run computed no derivatives by \"ovvv\"; it has those by eps_occ, ");
  const std::string slices = "Of the 3 slices of the derivatives by t2, ";
  expect_refusal("t2", 2, 2, 150, slices + "2 behind the first 2");
  expect_refusal("t2", -1, 1, 75, slices + "1 behind the first -1");
  expect_refusal("t2", 1, -1, 0, slices + "-1 behind the first 1");
  expect_refusal("t2", std::numeric_limits<std::int64_t>::max(), 1, 75, slices);
  expect_refusal("t2", 1, std::numeric_limits<std::int64_t>::max(), 75, slices);
  expect_refusal("t2", 1, 1, 74,
                 "1 of 3 slices of the derivatives by t2 have 75 elements, but the array for them has 74.");
}

/// A run with derivatives, and the check of its derivatives with other operands: as if a panel had been wrong.
class CheckedRun {
 public:
  CheckedRun(const SyntheticMolecule& molecule, const CalculationOptions& options)
      : raw_(ArraysOfMolecule::raw_dump_of(molecule)),
        reference_(molecule.reference),
        arrays_(raw_, reference_, HeldArrays::Layout::c_order),
        calculation_(arrays_.source(), nullptr, options),
        result_(calculation_.run()),
        layout_(calculation_.problem(), cpu_panel_tiles(calculation_.plan().tiles)) {}

  /// Multiplies the derivatives by operands, of which array `changed` is multiplied by `factor`.
  DerivativeProducts products(const std::string& changed = {}, double factor = 1.0) const {
    RawDump raw = raw_;
    Problem problem = calculation_.problem();
    if (changed == "omega2") {
      problem.quotients = {Quotient(factor * problem.quotients.front().omega2)};
    } else if (!changed.empty()) {
      for (double& value : raw.datasets.at(changed).values) value *= factor;
    }
    const ArraysOfMolecule arrays(raw, reference_, HeldArrays::Layout::c_order);
    problem.right = &arrays.source();
    return multiply_by_operands(problem, layout_, dynamic_cast<const MadeDerivatives&>(*result_.derivatives), 2);
  }
  /// Returns the largest error of a sum.
  double check(const std::string& changed, double factor, Precision precision) const {
    return check_derivatives(calculation_.problem(), layout_, products(changed, factor), result_.energies.front().total,
                             precision);
  }
  void expect_error(const std::string& changed, const std::string& sum, double factor,
                    Precision precision = Precision::fp64) const {
    EXPECT_LT(check(changed, 1.0, precision), 1e-10);
    expect_failure<Error>([&] { check(changed, factor, precision); }, "the sum over " + sum + " is");
  }
  /// Returns the sum of derivative times operand over the arrays whose names begin like this, perhaps after asym_.
  double sum_over(const std::string& begin) const {
    double sum = 0.0;
    for (const auto& [name, values] : arrays_of(*result_.derivatives)) {
      if (!name.starts_with(begin) && !name.starts_with("asym_" + begin)) continue;
      const std::vector<double>& operand = raw_.datasets.at(name).values;
      EXPECT_EQ(operand.size(), values.size()) << name;
      sum = std::inner_product(values.begin(), values.end(), operand.begin(), sum);
    }
    return sum;
  }

 private:
  const RawDump raw_;
  const Reference reference_;
  const ArraysOfMolecule arrays_;
  const Calculation calculation_;
  const CalculationResult result_;
  const PanelLayout layout_;
};

// The check multiplies sums of panels by blocks of the input, and makes no array.
TEST(DerivativesTimesOperands, AreTheSumsOverArrays) {
  for (const SyntheticMolecule& molecule : molecules()) {
    CalculationOptions options = options_for();
    options.derivatives = Derivatives::all;
    options.tile_size = 2;
    const CheckedRun run(molecule, options);
    const DerivativeProducts found = run.products();
    const auto expect_equal = [](const InnerProduct& product, double expected) {
      EXPECT_GT(product.magnitude, 0.0);
      EXPECT_GE(product.magnitude, std::abs(product.sum));
      EXPECT_NEAR(product.sum, expected, 1e-12 * product.magnitude);
    };
    expect_equal(found.t1, run.sum_over("t1"));
    expect_equal(found.t2, run.sum_over("t2"));
    expect_equal(found.ovov, run.sum_over("ovov"));
    expect_equal(found.integrals, run.sum_over("ovvv") + run.sum_over("ovoo"));
  }
}

class CheckedDerivatives : public ::testing::TestWithParam<double> {
 protected:
  explicit CheckedDerivatives() {
    options.derivatives = Derivatives::all;
    options.omega2 = {GetParam()};
    options.tile_size = 2;
  }

  const SyntheticMolecule molecule = closed_shell(6, 11);
  CalculationOptions options = options_for();
};

TEST_P(CheckedDerivatives, AreWrongIfAnArrayIs) {
  constexpr double factor = 1.0001;
  const CheckedRun run(molecule, options);
  run.expect_error("ovvv", "ovvv and ovoo", factor);
  run.expect_error("t2", "t2", factor);
  run.expect_error("ovov", "ovov", factor);
  if (GetParam() > 0.0) run.expect_error("omega2", "the orbital energies", factor);
  run.expect_error("eps_occ", "the orbital energies", factor);
}

// Errors of mixed precision are returned, larger ones are not accepted.
TEST_P(CheckedDerivatives, MayHaveSmallErrorsInMixedPrecision) {
  const CheckedRun run(molecule, options);
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
  const CheckedRun run(molecule, options);
  run.expect_error("ovvv", "ovvv and ovoo", factor);
  run.expect_error("t2", "t2", factor);
  options.tile_size.reset();  // fewer tasks, which round less
  CheckedRun(molecule, options).expect_error("omega2", "the orbital energies", factor);
}

INSTANTIATE_TEST_SUITE_P(For, CheckedDerivativesForALargeOmega2, ::testing::Values(1e6));

}
}
