#include "tce_tiles/checks/witnesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/checks/doubles_check.hpp"
#include "tce_tiles/checks/lambda_witness.hpp"
#include "tce_tiles/checks/left_witnesses.hpp"
#include "tce_tiles/checks/make_witness.hpp"
#include "tce_tiles/dense/dense_source.hpp"

namespace trifuse {
namespace {

/// Largest difference between the recomputed CCSD energy and the printed one, hartree.
constexpr double energy_tolerance = 1e-8;
/// Largest f_ov t1 per unit of |t1| if there is no Fock matrix: the gradient of a loosely converged SCF, hartree.
constexpr double max_unknown_gradient = 1e-5;
/// Largest difference between orbital energies and the diagonal of the Fock matrix, hartree. Correct inputs have at
/// most 5e-13, and more if energies and matrix come from different iterations of a loosely converged SCF.
constexpr double energies_tolerance = 1e-8, energies_per_coupling = 100.0, max_energies_tolerance = 1e-4;

/// Steps of t1 (see SinglesResidual). Correct inputs have 4e-11 with tight convergence, 1.2e-6 with PySCF's defaults
/// and 1.8e-5 with a requested convergence of 1e-4. Wrong arrays have at least 5.6e-4.
constexpr double max_step = 1e-4, usual_step = 3e-6;
/// Ratio of the largest step to the largest step of other rows or columns. It is evaluated for steps above `min_spike`
/// and at least `elements_of_spike` elements. Correct inputs have at most 8, and one flipped bit that matters gives 100
/// or more.
constexpr double spike = 100.0, min_spike = 1e-7;
constexpr std::int64_t elements_of_spike = 8;
/// Residual of the equation without oovv, for a t1 of length 1, hartree. Correct inputs have 0.20 to 1.05 along t1 and
/// at most 0.32 across t1.
constexpr double min_along = 0.0, max_along = 3.0, max_across = 1.0;
constexpr double usual_min_along = 0.1, usual_max_along = 2.0, usual_across = 0.5;
/// The next iteration of converged amplitudes changes t1 by at most this multiple of the norm with which their program
/// stopped (0.5 in 51 molecules of PySCF), or by rounding errors.
constexpr double steps_per_convergence = 5.0, rounding_step = 1e-10;
/// The step above which dense arrays get a warning if their maker does not state their convergence. Tight thresholds
/// give smaller steps; amplitudes of default thresholds (1.2e-6) should state their convergence.
constexpr double unstated_step = 1e-7;
/// A residual is parallel to t1 if the rest of it is shorter than this fraction. Residuals of loosely converged
/// amplitudes have at least a third of their length across t1 (molecules with few elements of t1 excepted).
constexpr double parallel = 0.02, least_shift = 1e-7;
/// Sum of squares of integrals above which amplitudes cannot be zero.
constexpr double zero_integrals = 1e-12;
/// Limits of <t2 D t2>/<t2 v>. Correct inputs have 0.97 to 2.3, a nonsensical molecule has 8.2, and orbital energies in
/// eV give 30 to 60. Crystals at the Gamma point have 0.72, half of t2 gives 0.5.
constexpr double min_first_order = 0.3, max_first_order = 20.0;
constexpr double usual_min_first_order = 0.6, usual_max_first_order = 3.0;
constexpr double min_gap = 0.01, usual_t1 = 1.0, usual_t2 = 2.0;

Witness ccsd_energy(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals) {
  const std::string name = "CCSD energy";
  if (!measured.ccsd_energy) return unknown_witness(name, measured.no_singles_reason);
  if (!amplitudes.correlation_energy) return unknown_witness(name, "the maker's CCSD correlation energy is not known");
  const double printed = *amplitudes.correlation_energy, found = *measured.ccsd_energy;
  const double limit = energy_tolerance + (measured.fock_in_energy ? 0.0 : max_unknown_gradient * measured.largest_t1);
  return failed_if(
      !(std::abs(printed - found) <= limit), name, std::abs(printed - found), limit,
      fmt::format(
          "The numbers in {} give a CCSD correlation energy of {:.12f} hartree, but the program that made them printed "
          "{:.12f}; amplitudes, integrals and output do not belong together: one of them is of another run (other "
          "geometry, basis, frozen orbitals or convergence), or SCF ran again in between and changed the orbitals.",
          files_of(amplitudes, integrals), found, printed));
}

/// Returns the element with the largest step, as the dump format names it.
std::string element_of(const SinglesResidual& found, bool restricted) {
  return fmt::format("t1{}[{},{}]", restricted ? "" : found.spin == 0 ? "_a" : "_b", found.i, found.a);
}

constexpr const char* likely_causes =
    "an array has a wrong sign, factor or order of indices or spins, or was made for another calculation";

/// Returns words for how the maker of an input adds data: it passes arrays or blocks, or writes a file.
const char* adding_to(const TileSource& integrals) {
  return integrals.info().files.empty() ? "pass" : "write";
}

/// Returns the name of the Fock matrix for the maker of an input.
const char* fock_in(const TileSource& integrals) {
  return dense_input_of(integrals) != nullptr ? "fock" : "the Fock matrix";
}

/// Returns causes of a residual that only some inputs can have. They follow the likely causes in a sentence.
std::string further_causes(const TileSource& amplitudes, const TileSource& integrals) {
  std::string causes;
  if (&amplitudes != &integrals && amplitudes.info().amplitudes == AmplitudeKind::ccsd) {
    causes = ", or the left amplitudes are Lambda or regularised amplitudes: state their kind";
  }
  if (integrals.has_fock()) return causes;
  return causes + fmt::format(", or the orbitals are not canonical: {} {}", adding_to(integrals), fock_in(integrals));
}

/// Returns the step of t1 above which the amplitudes are worse than usual. `dense`: they are arrays, which may state
/// their convergence.
double usual_step_of(const Measurements& measured, const SourceInfo& amplitudes, bool dense) {
  // Without a Fock matrix, the residual contains the gradient of the SCF.
  if (!measured.fock_in_energy) return usual_step;
  if (!amplitudes.convergence) return dense ? unstated_step : usual_step;
  return std::clamp(steps_per_convergence * *amplitudes.convergence, rounding_step, usual_step);
}

/// Returns true if a constant shift of all virtual orbital energies would give this residual.
bool is_shift(const SinglesResidual& found) {
  return found.complete && found.singles && found.elements >= elements_of_spike &&
         std::abs(found.along_t1) > least_shift && found.across_t1 < parallel * std::abs(found.along_t1);
}

Witness complete_equation(const SinglesResidual& found, const TileSource& source, const TileSource& integrals) {
  const std::string name = "singles equation", files = files_of(source.info(), integrals.info());
  const SourceInfo& amplitudes = source.info();
  const bool restricted = integrals.info().reference == Reference::rhf;
  const double others = std::min(found.other_rows, found.other_columns);
  if (is_shift(found)) {
    const std::string cure =
        amplitudes.amplitudes == AmplitudeKind::regularized_ccsd
            ? fmt::format("the stated omega2 is {:.8g}, but these amplitudes have omega2 = {:.6g}", amplitudes.omega2,
                          amplitudes.omega2 - found.along_t1)
            : "the orbital energies have a level shift, or the amplitudes are regularised and are not said to be";
    return {name, WitnessStatus::failed, std::abs(found.along_t1), least_shift,
            fmt::format("{}: the CCSD equation of the single excitations holds only if all virtual orbital energies "
                        "are shifted by {:.3g} hartree; {}.",
                        files, -found.along_t1, cure)};
  }
  // A few wrong numbers give one large step. Loose convergence gives similar steps everywhere.
  if (found.step > min_spike && found.elements >= elements_of_spike && found.step > spike * others &&
      found.step <= max_step) {
    return {
        name, WitnessStatus::failed, found.step, std::max(min_spike, spike * others),
        fmt::format(
            "{}: the CCSD equation of the single excitations holds everywhere (to {:.2g}) except near {}; the error "
            "there is {:.2g}; single numbers of the integrals or amplitudes are damaged: copy or write them again.",
            files, others, element_of(found, restricted), found.step)};
  }
  return failed_if(
      !(found.step <= max_step), name, found.step, max_step,
      fmt::format("{}: the numbers do not satisfy the CCSD equation of the single excitations: the next "
                  "iteration would change {} by {:.3g}; {}, or the amplitudes are not converged{}.",
                  files, element_of(found, restricted), found.step, likely_causes, further_causes(source, integrals)));
}

Witness equation_without_oovv(const SinglesResidual& found, const TileSource& amplitudes, const TileSource& integrals) {
  const std::string name = "singles equation without oovv", files = files_of(amplitudes.info(), integrals.info());
  const std::string causes = likely_causes + further_causes(amplitudes, integrals);
  if (found.along_t1 < min_along || found.along_t1 > max_along) {
    return {name, WitnessStatus::failed, found.along_t1, limit_of(found.along_t1, min_along, max_along),
            fmt::format("{}: the CCSD equation of the single excitations, as far as it can be tested without (ij|ab), "
                        "leaves {:.3g} of t1 hartree, but {:g} to {:g} are possible; {}.",
                        files, found.along_t1, min_along, max_along, causes)};
  }
  return failed_if(!(found.across_t1 <= max_across), name, found.across_t1, max_across,
                   fmt::format("{}: the CCSD equation of the single excitations, as far as it can be tested without "
                               "(ij|ab), is off by {:.3g} |t1| hartree, but at most {:g} are possible; {}.",
                               files, found.across_t1, max_across, causes),
                   fmt::format("this is across t1; along t1 it is {:.2g}, limits {:g} and {:g}", found.along_t1,
                               min_along, max_along));
}

Witness singles_equation(const Measurements& measured, const TileSource& amplitudes, const TileSource& integrals) {
  if (!measured.singles) return unknown_witness("singles equation", measured.no_singles_reason);
  const SinglesResidual& found = *measured.singles;
  if (found.complete) return complete_equation(found, amplitudes, integrals);
  if (!found.singles) {
    return unknown_witness("singles equation", "there are no single excitations, and no integrals (ij|ab)");
  }
  return equation_without_oovv(found, amplitudes, integrals);
}

/// Returns <t2 D t2>/<t2 v>; NaN if there are no opposite-spin doubles.
double first_order_ratio(const Measurements& measured) {
  return measured.doubles.t2_d_t2 / measured.doubles.t2_v;
}

Witness first_order(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals) {
  const std::string name = "first-order doubles";
  if (!measured.ccsd_energy) return unknown_witness(name, measured.no_singles_reason);
  const auto never_made = [&](const char* zero, const char* other, const char* name_of_zero) {
    return Witness{name, WitnessStatus::failed, 0.0, min_first_order,
                   fmt::format("{}: all {} are zero, but the {} are not; the {} were never computed or not copied.",
                               files_of(amplitudes, integrals), zero, other, name_of_zero)};
  };
  if (measured.doubles.t2_t2 == 0.0 && measured.doubles.v_v > zero_integrals) {
    return never_made("amplitudes t2", "integrals (ia|jb)", "amplitudes");
  }
  if (measured.doubles.v_v == 0.0 && measured.doubles.t2_t2 > zero_integrals) {
    return never_made("integrals (ia|jb)", "amplitudes t2", "integrals");
  }
  if (measured.doubles.t2_v == 0.0) return unknown_witness(name, "there are no opposite-spin doubles");
  const double ratio = first_order_ratio(measured);
  const bool wrong = !(ratio >= min_first_order && ratio <= max_first_order);
  return failed_if(wrong, name, ratio, limit_of(ratio, min_first_order, max_first_order),
                   fmt::format("{}: the amplitudes t2 and the integrals (ia|jb) give <t2 D t2>/<t2 v> = {:.3g}, but "
                               "converged CCSD has about 1, and {:g} to {:g} are possible; orbital energies may be in "
                               "another unit (eV instead of hartree) or order, or t2 has another sign or factor.",
                               files_of(amplitudes, integrals), ratio, min_first_order, max_first_order));
}

Witness orbital_energies(const Measurements& measured, const SourceInfo& integrals) {
  const std::string name = "orbital energies";
  if (!measured.energy_fock_difference) return unknown_witness(name, "there is no Fock matrix");
  const double limit =
      std::clamp(energies_per_coupling * measured.fock_off_diagonal, energies_tolerance, max_energies_tolerance);
  return failed_if(!(*measured.energy_fock_difference <= limit), name, *measured.energy_fock_difference, limit,
                   fmt::format("{}: the orbital energies differ from the diagonal of the Fock matrix by up to {:.3g} "
                               "hartree; give both in hartree, in the same order, with the spins in the same places, "
                               "and from the same calculation.",
                               integrals.path, *measured.energy_fock_difference));
}

/// Returns the witness for right-hand amplitudes whose kind no equation tests; nullopt for other amplitudes.
std::optional<Witness> untested_kind(const SourceInfo& amplitudes) {
  if (amplitudes.amplitudes != AmplitudeKind::lambda) return std::nullopt;
  return Witness{"kind of amplitudes",
                 WitnessStatus::failed,
                 {},
                 {},
                 fmt::format("{}: the amplitudes are said to be Lambda amplitudes, which can only be on the left-hand "
                             "side; name CCSD amplitudes here and these as the left ones, or correct the kind.",
                             amplitudes.path)};
}

/// Returns a warning that names the data without which the witnesses are weak; nullopt if nothing is missing. Arrays of
/// a caller need all of these data. Files need a sharp equation, or the printed energy and the Fock matrix.
std::optional<std::string> weakness(const Measurements& measured, const TileSource& integrals) {
  const SourceInfo& info = integrals.info();
  if (info.nothing_to_add) return std::nullopt;
  const bool equation = measured.singles && measured.singles->complete, in_memory = info.files.empty();
  if (!in_memory && (equation || (info.correlation_energy && integrals.has_fock()))) return std::nullopt;
  const bool dense = dense_input_of(integrals) != nullptr;
  std::vector<std::string> missing;
  if (integrals.factors() == nullptr && !integrals.has_exchange_integrals()) {
    missing.emplace_back(dense ? "oovv" : "the blocks of exchange integrals");
  }
  if (!integrals.has_fock()) missing.emplace_back(fock_in(integrals));
  if (!info.correlation_energy) missing.emplace_back("correlation_energy");
  if (missing.empty()) return std::nullopt;
  const std::string last = missing.back();
  missing.pop_back();
  return fmt::format("{} checked only weakly: {} {}{}{}.",
                     in_memory ? (dense ? "The arrays are" : "The blocks are") : info.path + " is",
                     adding_to(integrals), fmt::join(missing, ", "), missing.empty() ? "" : " and ", last);
}

/// Returns warnings about values that are possible but rare.
std::vector<std::string> remarks(const Measurements& measured, const SourceInfo& amplitudes,
                                 const SourceInfo& integrals, bool dense) {
  std::vector<std::string> found;
  const std::string files = files_of(amplitudes, integrals);
  if (measured.gap && *measured.gap < min_gap) {
    found.push_back(
        fmt::format("{}: the lowest virtual orbital lies {:.3g} hartree above the highest occupied one; perturbative "
                    "triples are not reliable for such a small gap.",
                    files, *measured.gap));
  }
  if (measured.largest_t2 > usual_t2 || measured.largest_t1 > usual_t1) {
    found.push_back(
        fmt::format("{}: amplitudes are large (t1 up to {:.2g}, t2 up to {:.2g}); coupled cluster theory is not "
                    "reliable for this molecule, or the numbers are wrong.",
                    files, measured.largest_t1, measured.largest_t2));
  }
  const double first_order = first_order_ratio(measured);
  if (amplitudes.amplitudes == AmplitudeKind::ccsd && measured.doubles.t2_v != 0.0 &&
      (first_order < usual_min_first_order || first_order > usual_max_first_order)) {
    found.push_back(
        fmt::format("{}: <t2 D t2>/<t2 v> is {:.3g}, but usual amplitudes have {:g} to {:g}; t2, the integrals (ia|jb) "
                    "or the orbital energies may have a wrong factor.",
                    files, first_order, usual_min_first_order, usual_max_first_order));
  }
  if (amplitudes.amplitudes == AmplitudeKind::made_up) {
    found.push_back(
        fmt::format("{}: the amplitudes are said to be made up, so no witness tests them; their energy is "
                    "that of no molecule.",
                    files));
  }
  if (!measured.singles) return found;
  const SinglesResidual& singles = *measured.singles;
  const double usual = usual_step_of(measured, amplitudes, dense);
  if (singles.complete && singles.step > usual) {
    const bool stated = amplitudes.convergence && usual < usual_step;
    const bool statement_missing = !amplitudes.convergence && singles.step <= usual_step;
    found.push_back(fmt::format(
        "{}: the amplitudes are {}, or some numbers are damaged: the next iteration would change t1 by up to "
        "{:.2g}{}.",
        files, stated ? fmt::format("not converged to {:.1g} as stated", *amplitudes.convergence) : "loosely converged",
        singles.step,
        statement_missing ? "; if they are converged to no more than this, state their convergence" : ""));
  }
  const bool unusual =
      singles.along_t1 < usual_min_along || singles.along_t1 > usual_max_along || singles.across_t1 > usual_across;
  if (!singles.complete && singles.singles && unusual) {
    found.push_back(
        fmt::format("{}: without (ij|ab) the CCSD equation of the single excitations has an unusual residual, {:.2g} "
                    "along t1 and {:.2g} across t1; add oovv for a sharp test.",
                    files, singles.along_t1, singles.across_t1));
  }
  return found;
}

/// Returns the largest difference between ROHF orbital energies and the mean of both spins' Fock diagonals, which
/// NWChem uses as orbital energies. The orbitals of the two spins have different orders; the function pairs them by
/// their energies.
double off_mean_of_spins(const std::array<std::vector<double>, 2>& eps,
                         const std::array<std::vector<double>, 2>& fock) {
  if (eps[0].size() != eps[1].size()) return std::numeric_limits<double>::infinity();
  std::vector<bool> taken(eps[1].size(), false);
  double off = 0.0;
  for (std::size_t p = 0; p < eps[0].size(); ++p) {
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t partner = 0;
    for (std::size_t q = 0; q < eps[1].size(); ++q) {
      if (taken[q]) continue;
      const double mean = 0.5 * (fock[0][p * (eps[0].size() + 1)] + fock[1][q * (eps[1].size() + 1)]);
      const double distance = std::max(std::abs(eps[0][p] - eps[1][q]), std::abs(eps[0][p] - mean));
      if (distance < nearest) nearest = distance, partner = q;
    }
    taken[partner] = true;
    off = std::max(off, nearest);
  }
  return off;
}

}

void Measurements::compare_energies(const std::array<std::vector<double>, 2>& occupied,
                                    const std::array<std::vector<double>, 2>& virtuals,
                                    const std::array<std::vector<double>, 2>& fock, bool rohf) {
  std::array<std::vector<double>, 2> eps;
  double off_own = 0.0;
  for (std::size_t s = 0; s < 2; ++s) {
    eps[s] = occupied[s];
    eps[s].insert(eps[s].end(), virtuals[s].begin(), virtuals[s].end());
    for (std::size_t p = 0; p < eps[s].size() && !fock[s].empty(); ++p) {
      off_own = std::max(off_own, std::abs(eps[s][p] - fock[s][p * (eps[s].size() + 1)]));
    }
    if (occupied[s].empty() || virtuals[s].empty()) continue;
    const double found = *std::min_element(virtuals[s].begin(), virtuals[s].end()) -
                         *std::max_element(occupied[s].begin(), occupied[s].end());
    gap = gap ? std::min(*gap, found) : found;
  }
  if (fock[0].empty()) return;
  for (std::size_t s = 0; s < 2 && !rohf; ++s) {
    const std::size_t n = eps[s].size();
    for (std::size_t p = 0; p < n * n && !fock[s].empty(); ++p) {
      if (p / n != p % n) fock_off_diagonal = std::max(fock_off_diagonal, std::abs(fock[s][p]));
    }
  }
  energy_fock_difference = rohf ? std::min(off_own, off_mean_of_spins(eps, fock)) : off_own;
}

std::string to_string(WitnessStatus status) {
  switch (status) {
    case WitnessStatus::passed:
      return "passed";
    case WitnessStatus::unknown:
      return "not known";
    case WitnessStatus::failed:
      return "failed";
  }
  return "?";
}

bool has_failed(const CheckReport& report) {
  return std::any_of(report.witnesses.begin(), report.witnesses.end(),
                     [](const Witness& witness) { return witness.status == WitnessStatus::failed; });
}

CheckReport evaluate_witnesses(const Measurements& measured, const TileSource& amplitudes,
                               const TileSource& integrals) {
  const SourceInfo &of_amplitudes = amplitudes.info(), &of_integrals = integrals.info();
  CheckReport report;
  report.ccsd_energy = measured.ccsd_energy;
  report.witnesses = {ccsd_energy(measured, of_amplitudes, of_integrals),
                      singles_equation(measured, amplitudes, integrals),
                      first_order(measured, of_amplitudes, of_integrals), orbital_energies(measured, of_integrals)};
  const bool left = &amplitudes != &integrals;
  if (left) add_left_witnesses(measured, of_amplitudes, of_integrals, report);
  if (auto kind = left ? std::nullopt : untested_kind(of_amplitudes)) report.witnesses.push_back(std::move(*kind));
  for (std::string& remark : remarks(measured, of_amplitudes, of_integrals, dense_input_of(amplitudes) != nullptr)) {
    report.warnings.push_back(std::move(remark));
  }
  add_doubles_witness(measured, of_amplitudes, report);
  add_lambda_witness(measured, of_amplitudes, of_integrals, report);
  const bool tested =
      of_amplitudes.amplitudes == AmplitudeKind::ccsd || of_amplitudes.amplitudes == AmplitudeKind::regularized_ccsd;
  if (auto weak = left || !tested ? std::nullopt : weakness(measured, integrals)) {
    report.warnings.push_back(std::move(*weak));
  }
  return report;
}

void enforce_witnesses(CheckReport& report, bool trust_input) {
  for (const Witness& witness : report.witnesses) {
    if (witness.status != WitnessStatus::failed) continue;
    if (!trust_input) throw InputError(witness.note);
    report.warnings.push_back(
        fmt::format("A witness failed ({}), but the input is trusted as requested.", witness.name));
  }
}

}
