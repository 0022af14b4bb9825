#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_derivatives.hpp"

/// Derivatives on a GPU, compared with those on cores in double precision.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class DerivativesOnGpu : public SkippedWithoutHopper<::testing::Test> {
 protected:
  /// Returns the largest error of an array relative to its largest element.
  static double error_of(const std::vector<double>& found, const std::vector<double>& expected) {
    double largest = 0.0, error = 0.0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      largest = std::max(largest, std::abs(expected[n]));
      error = std::max(error, std::abs(found[n] - expected[n]));
    }
    return largest > 0.0 ? error / largest : error;
  }
  static CalculationResult on_gpu(const TileSource& source, CalculationOptions options, Precision precision) {
    options.executor = ExecutorKind::cuda;
    options.precision = precision;
    return calculate(source, options);
  }
  /// Compares the derivatives of all arrays with those of cores.
  static void expect_those_of_cores(const TileSource& source, const CalculationOptions& options, Precision precision) {
    const CalculationResult cores = calculate(source, options), gpu = on_gpu(source, options, precision);
    const bool mixed = precision == Precision::mixed;
    const auto expected = arrays_of(*cores.derivatives), found = arrays_of(*gpu.derivatives);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, values] : expected) {
      ASSERT_EQ(found.at(name).size(), values.size()) << name;
      EXPECT_LT(error_of(found.at(name), values), mixed ? 1e-5 : 1e-10) << name;
    }
    EXPECT_EQ(gpu.derivatives_error.has_value(), mixed);
  }
  static CalculationOptions options_of(SpinFormulation formulation, Derivatives derivatives) {
    CalculationOptions options = options_for(formulation);
    options.derivatives = derivatives;
    return options;
  }
};

TEST_F(DerivativesOnGpu, AreThoseOfCoresForClosedShells) {
  for (const auto& [holes, particles] : {std::pair{3, 5}, {6, 17}, {13, 30}}) {
    const ArraysOfMolecule arrays(closed_shell(holes, particles), HeldArrays::Layout::c_order);
    for (const SpinFormulation formulation : {SpinFormulation::spin_adapted, SpinFormulation::spin_orbital}) {
      for (const Precision precision : {Precision::fp64, Precision::mixed}) {
        SCOPED_TRACE(to_string(formulation) + ", " + std::to_string(particles) + ", " + to_string(precision));
        expect_those_of_cores(arrays.source(), options_of(formulation, Derivatives::all), precision);
      }
    }
  }
}

TEST_F(DerivativesOnGpu, AreThoseOfCoresForOpenShells) {
  const ArraysOfMolecule arrays(open_shell(Reference::uhf, {7, 6, 17, 18}), HeldArrays::Layout::c_order);
  for (const Derivatives derivatives : {Derivatives::amplitudes, Derivatives::all}) {
    for (const Precision precision : {Precision::fp64, Precision::mixed}) {
      SCOPED_TRACE(to_string(precision));
      expect_those_of_cores(arrays.source(), options_of(SpinFormulation::spin_orbital, derivatives), precision);
    }
  }
}

// The derivatives of amplitudes have contracted indices that do not begin with a k-tile.
TEST_F(DerivativesOnGpu, OfAmplitudesInMixedPrecisionAreThoseOfCores) {
  const ArraysOfMolecule arrays(closed_shell(9, 37), HeldArrays::Layout::c_order);
  CalculationOptions options = options_of(SpinFormulation::spin_adapted, Derivatives::amplitudes);
  expect_those_of_cores(arrays.source(), options, Precision::mixed);
  options.tile_size = 8;
  expect_those_of_cores(arrays.source(), options, Precision::mixed);
}

TEST_F(DerivativesOnGpu, InMixedPrecisionHaveTheSameBitsInEveryRun) {
  const ArraysOfMolecule arrays(closed_shell(13, 40), HeldArrays::Layout::c_order);
  CalculationOptions options = options_of(SpinFormulation::spin_adapted, Derivatives::all);
  options.tile_size = 12;
  const CalculationResult first = on_gpu(arrays.source(), options, Precision::mixed),
                          second = on_gpu(arrays.source(), options, Precision::mixed);
  EXPECT_TRUE(arrays_of(*first.derivatives) == arrays_of(*second.derivatives));
}

}
}
