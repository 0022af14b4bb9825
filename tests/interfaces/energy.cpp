// The C++ interface on one molecule: water from NWChem's files, whose (T) energy NWChem printed.
#include <cmath>
#include <cstdio>
#include <exception>

#include "cxx/calculation/calculation.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/sources/open_source.hpp"

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  trifuse::NwchemLocation where;
  where.prefix = argv[1];
  const auto water = trifuse::open_source(where);
  trifuse::verify_source(*water, *water);

  trifuse::CalculationOptions options;
  options.omega2 = {0.0, 0.1};
  options.executor = trifuse::choose_executor(water->tiles(), options.formulation);
  const trifuse::CalculationResult result = trifuse::Calculation(*water, nullptr, options).run();
  for (const trifuse::TriplesEnergy& energy : result.energies) {
    std::printf("omega2 %.2f  E[T] %.12f  E(T) %.12f  %s\n", energy.omega2, energy.total.e_bracket_t,
                energy.total.e_paren_t, energy.method.c_str());
  }
  const bool right = std::abs(result.energies.at(0).total.e_paren_t - -0.00306002229317) < 1e-10 &&
                     std::abs(result.energies.at(1).total.e_paren_t - -0.00292160472672) < 1e-10;
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
