#include <algorithm>
#include <cmath>
#include <vector>

#include "cxx/base/terminal.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "drivers/commands.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

namespace trifuse::cli {

namespace {

struct Case {
  const char* name;
  SyntheticMolecule molecule;
  SpinFormulation formulation;
  bool two_sided;
};

std::vector<CalculationResult> compute(const Case& test, const std::vector<ExecutorKind>& executors) {
  SyntheticMolecule other = test.molecule;
  other.seed = 2;
  const auto right = make_synthetic_source(test.molecule);
  const auto left = make_synthetic_source(other);
  std::vector<CalculationResult> results;
  for (const ExecutorKind executor : executors) {
    CalculationOptions options;
    options.formulation = test.formulation;
    options.omega2 = {0.0, 0.1, 0.2};
    options.executor = executor;
    options.tile_size = 3;
    results.push_back(Calculation(*right, test.two_sided ? left.get() : nullptr, options).run());
  }
  return results;
}

/// Returns the largest difference between two energies of the same spin case, relative to the largest energy.
double difference(const CalculationResult& x, const CalculationResult& y) {
  double largest = 0.0, scale = 0.0;
  for (std::size_t w = 0; w < x.energies.size(); ++w) {
    for (std::size_t s = 0; s < 4; ++s) {
      const auto p = x.energies[w].spin_cases[s].values(), q = y.energies[w].spin_cases[s].values();
      for (std::size_t n = 0; n < p.size(); ++n) {
        largest = std::max(largest, std::abs(p[n] - q[n]));
        scale = std::max(scale, std::abs(p[n]));
      }
    }
  }
  return scale > 0.0 ? largest / scale : 1.0;
}

void execute(int& exit_code) {
  using enum Reference;
  const std::vector<Case> cases = {
      {"RHF, spin-adapted", {rhf, 4, 4, 7, 7, 1, 4, 16, 1}, SpinFormulation::spin_adapted, false},
      {"RHF, spin-orbital", {rhf, 4, 4, 7, 7, 1, 4, 16, 1}, SpinFormulation::spin_orbital, false},
      {"RHF, 4 irreps, spin-adapted", {rhf, 6, 6, 9, 9, 4, 2, 3, 1}, SpinFormulation::spin_adapted, false},
      {"RHF, 8 irreps, spin-orbital", {rhf, 5, 5, 9, 9, 8, 2, 3, 1}, SpinFormulation::spin_orbital, false},
      {"UHF", {uhf, 5, 3, 6, 8, 1, 2, 4, 1}, SpinFormulation::spin_orbital, false},
      {"UHF, 2 irreps", {uhf, 4, 3, 6, 7, 2, 2, 4, 1}, SpinFormulation::spin_orbital, false},
      {"UHF, no beta electron", {uhf, 4, 0, 5, 9, 1, 4, 4, 1}, SpinFormulation::spin_orbital, false},
      {"RHF, two-sided, spin-adapted", {rhf, 4, 4, 7, 7, 2, 3, 5, 1}, SpinFormulation::spin_adapted, true},
      {"RHF, two-sided, spin-orbital", {rhf, 4, 4, 7, 7, 1, 3, 5, 1}, SpinFormulation::spin_orbital, true},
      {"UHF, two-sided", {uhf, 4, 3, 6, 7, 1, 3, 5, 1}, SpinFormulation::spin_orbital, true},
  };
  // The first executor is the reference for the others.
  std::vector<ExecutorKind> executors = {ExecutorKind::reference, ExecutorKind::cpu};
  const std::vector<DeviceInfo> visible = visible_devices();
  if (std::any_of(visible.begin(), visible.end(), is_supported)) executors.push_back(ExecutorKind::cuda);
  constexpr double tolerance = 1e-11;
  int passed = 0, checks = 0;
  for (const Case& test : cases) {
    const auto results = compute(test, executors);
    for (std::size_t n = 1; n < executors.size(); ++n, ++checks) {
      const double found = difference(results[0], results[n]);
      const bool agrees = found < tolerance;
      passed += agrees ? 1 : 0;
      print_output("{:<6} {:<32} reference and {} differ by {:.1e}\n", agrees ? "ok" : "FAILED", test.name,
                   to_string(executors[n]), found);
    }
  }
  print_output("{} of {} checks passed\n", passed, checks);
  if (passed < checks) exit_code = failed_check;
}

}

void add_selftest(CLI::App& app, int& exit_code) {
  CLI::App* selftest =
      app.add_subcommand("selftest", "Compare the fast executors with the reference one on made-up molecules");
  selftest->footer(
      "Examples:\n"
      "  trifuse selftest                                     some seconds; the exit code is 4 if a number differs\n"
      "Details: drivers/docs/running.md");
  selftest->callback([&exit_code] { execute(exit_code); });
}

}
