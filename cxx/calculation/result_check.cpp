#include "cxx/calculation/result_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

namespace {

/// Limits of the difference from the printed energies: for an error and for a warning, hartree. NWChem's energies are
/// reproduced from its files within 1e-12.
constexpr double tolerated_difference = 1e-6, usual_difference = 1e-9;
/// Correlation energies below this are rounding errors, hartree.
constexpr double no_energy = 1e-10;

/// Appends a warning or throws InputError if the energies differ from the printed ones.
void compare_with_printed(const Problem& problem, const CalculationOptions& options, const CalculationResult& result,
                          std::vector<std::string>& sentences) {
  const SourceInfo& info = problem.right->info();
  const TriplesEnergy* const energy = comparable_energy(problem, options, result);
  if (!info.printed_triples || energy == nullptr) return;
  // Other programs print only these two energies.
  const std::array all_printed = {info.printed_triples->first, info.printed_triples->second};
  // The correction of the method comes first, so that the message names it if it differs.
  for (std::size_t n = all_printed.size(); n-- > 0;) {
    const double found = energy->total.values()[n], printed = all_printed[n];
    // Two error bars cover the error of mixed precision in most cases, three in nearly all.
    const double difference = std::max(0.0, std::abs(found - printed) - 3.0 * energy->error_bar.values()[n]);
    // NaN fails this comparison, so it is not taken for agreement.
    if (std::isfinite(found) && difference <= usual_difference) continue;
    const std::string told =
        fmt::format("{}: {} is {:.12g} hartree, but {:.12g} was printed by the program that made the amplitudes",
                    info.path, Energies::names[n], found, printed);
    if (difference <= tolerated_difference) {
      sentences.push_back(told + "; the files may hold the amplitudes of another iteration.");
    } else if (options.trust_input) {
      sentences.push_back(told + "; the input is trusted as requested.");
    } else {
      throw InputError(told +
                       "; a file is damaged or belongs to another calculation: copy or write all files again "
                       "(--trust-input prints the result nevertheless).");
    }
    return;
  }
}

/// Appends a warning if the triples correction is larger than the CCSD correlation energy.
void compare_with_ccsd(const Problem& problem, const CalculationOptions& options, const CalculationResult& result,
                       std::vector<std::string>& sentences) {
  const SourceInfo& info = problem.right->info();
  const std::optional<double> ccsd = options.ccsd_energy ? options.ccsd_energy : info.correlation_energy;
  if (!ccsd) return;
  for (const TriplesEnergy& energy : result.energies) {
    const double triples = std::abs(energy.total.values().back());
    if (triples <= std::max(std::abs(*ccsd), no_energy)) continue;
    sentences.push_back(fmt::format(
        "{}: the correction for triples, {:.6g} hartree, is larger than the CCSD correlation energy, {:.6g} hartree; "
        "coupled cluster theory is not reliable for this molecule, or the numbers are wrong.",
        info.path, energy.total.values().back(), *ccsd));
    return;
  }
}

}

const TriplesEnergy* comparable_energy(const Problem& problem, const CalculationOptions& options,
                                       const CalculationResult& result) {
  const bool other_orbitals =
      options.rohf == RohfOrbitals::semicanonical && problem.right->info().reference == Reference::rohf;
  if (problem.two_sided() || other_orbitals) return nullptr;
  const auto plain = std::find_if(result.energies.begin(), result.energies.end(),
                                  [](const TriplesEnergy& energy) { return energy.omega2 == 0.0; });
  return plain == result.energies.end() ? nullptr : &*plain;
}

std::vector<std::string> check_result(const Problem& problem, const CalculationOptions& options,
                                      const CalculationResult& result) {
  std::vector<std::string> sentences;
  compare_with_printed(problem, options, result, sentences);
  compare_with_ccsd(problem, options, result, sentences);
  return sentences;
}

}
