#include "cxx/calculation/result_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Differences from what the maker of the amplitudes printed, hartree. From NWChem's files its energies come out to
/// 1e-12.
constexpr double tolerated_difference = 1e-6, usual_difference = 1e-9;
/// Correlation energies below this are zero but for rounding, hartree.
constexpr double no_energy = 1e-10;

/// The energy that has the same meaning as the printed one: the plain one-sided correction; for ROHF, the maker's.
const TriplesEnergy* comparable(const Calculation& calculation, const CalculationResult& result) {
  const bool other_orbitals = calculation.options().rohf == RohfOrbitals::semicanonical &&
                              calculation.problem().right->info().reference == Reference::rohf;
  if (calculation.problem().two_sided() || other_orbitals) return nullptr;
  const auto plain = std::find_if(result.energies.begin(), result.energies.end(),
                                  [](const TriplesEnergy& energy) { return energy.omega2 == 0.0; });
  return plain == result.energies.end() ? nullptr : &*plain;
}

void compare_with_printed(const Calculation& calculation, const CalculationResult& result,
                          std::vector<std::string>& sentences) {
  const SourceInfo& info = calculation.problem().right->info();
  const TriplesEnergy* const energy = comparable(calculation, result);
  if (!info.printed_triples || energy == nullptr) return;
  const auto [e_bracket_t, e_paren_t] = *info.printed_triples;
  const std::pair<const char*, std::pair<double, double>> kinds[] = {
      {"E(T)", {energy->total.e_paren_t, e_paren_t}}, {"E[T]", {energy->total.e_bracket_t, e_bracket_t}}};
  for (const auto& [name, numbers] : kinds) {
    const auto [found, printed] = numbers;
    const double difference = std::abs(found - printed);
    // Written so that what is no number is no agreement.
    if (difference <= usual_difference) continue;
    const std::string told =
        fmt::format("{}: {} is {:.12g} hartree, but {:.12g} was printed by the program that made the amplitudes",
                    info.path, name, found, printed);
    if (difference <= tolerated_difference) {
      sentences.push_back(told + "; the files may hold another step of its iterations.");
    } else if (calculation.options().trust_input) {
      sentences.push_back(told + "; the input was trusted all the same.");
    } else {
      throw InputError(told +
                       "; a file is damaged or of another calculation: copy or write all of them again "
                       "(--trust-input shows the result all the same).");
    }
    return;
  }
}

void compare_with_ccsd(const Calculation& calculation, const CalculationResult& result,
                       std::vector<std::string>& sentences) {
  const SourceInfo& info = calculation.problem().right->info();
  const std::optional<double> ccsd =
      calculation.options().ccsd_energy ? calculation.options().ccsd_energy : info.correlation_energy;
  if (!ccsd) return;
  for (const TriplesEnergy& energy : result.energies) {
    const double triples = std::abs(energy.total.e_paren_t);
    if (triples <= std::max(std::abs(*ccsd), no_energy)) continue;
    sentences.push_back(fmt::format(
        "{}: the correction for triples, {:.6g} hartree, is larger than the CCSD correlation energy, {:.6g} "
        "hartree; coupled cluster theory breaks down there, or the numbers are wrong.",
        info.path, energy.total.e_paren_t, *ccsd));
    return;
  }
}

}  // namespace

std::vector<std::string> check_result(const Calculation& calculation, const CalculationResult& result) {
  std::vector<std::string> sentences;
  compare_with_printed(calculation, result, sentences);
  compare_with_ccsd(calculation, result, sentences);
  return sentences;
}

}  // namespace trifuse
