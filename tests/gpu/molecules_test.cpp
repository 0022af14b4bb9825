#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/expected_energies.hpp"

/// Whole calculations on a GPU from amplitudes of NWChem, compared with the energies that NWChem printed and with the
/// CPU.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr double tolerance = 1e-10;  // hartree
constexpr double relative_tolerance = 1e-12;

void expect_near(const Energies& found, const Energies& expected) {
  EXPECT_NEAR(found.e_bracket_t, expected.e_bracket_t, tolerance);
  EXPECT_NEAR(found.e_paren_t, expected.e_paren_t, tolerance);
}

/// Computes on a GPU and on the CPU, compares the results, and returns that of the GPU.
CalculationResult compared_with_the_cpu(const TileSource& source, CalculationOptions options) {
  options.executor = ExecutorKind::cpu;
  const auto expected = numbers_of(calculate(source, options));
  options.executor = ExecutorKind::cuda;
  const CalculationResult found = calculate(source, options);
  EXPECT_TRUE(found.device_report);
  if (std::all_of(expected.begin(), expected.end(), [](double x) { return x == 0.0; })) {
    EXPECT_EQ(numbers_of(found), expected);  // two electrons have no triples
  } else {
    EXPECT_LT(relative_difference(numbers_of(found), expected), relative_tolerance);
  }
  return found;
}

class GpuEnergyFromNwchemsFiles : public OnGpuForDump {
 protected:
  std::unique_ptr<TileSource> source = open_dump_of(GetParam());
  ExpectedEnergies expected = expected_energies(GetParam());
};

TEST_P(GpuEnergyFromNwchemsFiles, IsThePrintedOne) {
  std::vector<SpinFormulation> formulations = {SpinFormulation::spin_orbital};
  if (source->tiles().restricted()) formulations.push_back(SpinFormulation::spin_adapted);
  for (const SpinFormulation formulation : formulations) {
    for (const std::optional<std::int64_t> size : {std::optional<std::int64_t>{}, {3}}) {
      SCOPED_TRACE(to_string(formulation) + ", tiles of " + (size ? std::to_string(*size) : "the usual size"));
      CalculationOptions options = options_for(formulation, size);
      options.omega2 = {0.0};
      for (const auto& [omega2, energies] : expected.regularised) options.omega2.push_back(omega2);
      const auto found = compared_with_the_cpu(*source, options).energies;
      expect_near(found.front().total, expected.plain);
      if (const auto& printed = source->info().printed_triples) {
        expect_near(found.front().total, {printed->first, printed->second});
      }
      for (std::size_t n = 0; n < expected.regularised.size(); ++n) {
        SCOPED_TRACE("omega2 = " + std::to_string(expected.regularised[n].first));
        expect_near(found[n + 1].total, expected.regularised[n].second);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GpuEnergyFromNwchemsFiles, ::testing::ValuesIn(good_dumps()),
                         [](const auto& test) { return test.param; });

class StandardRohfGpuEnergyFromNwchemsFiles : public GpuEnergyFromNwchemsFiles {};

TEST_P(StandardRohfGpuEnergyFromNwchemsFiles, IsThatOfOtherPrograms) {
  CalculationOptions options = options_for();
  options.rohf = RohfOrbitals::semicanonical;
  const auto found = compared_with_the_cpu(*source, options).energies;
  EXPECT_NEAR(found.front().total.e_paren_t, *expected.standard_rohf, tolerance);
}

std::vector<std::string> rohf_dumps() {
  std::vector<std::string> names = good_dumps("rohf");
  std::erase_if(names, [](const std::string& name) { return !expected_energies(name).standard_rohf; });
  return names;
}
INSTANTIATE_TEST_SUITE_P(Every, StandardRohfGpuEnergyFromNwchemsFiles, ::testing::ValuesIn(rohf_dumps()),
                         [](const auto& test) { return test.param; });

}
}
