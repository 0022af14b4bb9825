#include "tce_tiles/checks/left_witnesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tce_tiles/checks/make_witness.hpp"

namespace trifuse {
namespace {

/// Limits of <l t>/<t t>, the component of l along t, for left amplitudes of all kinds.
constexpr double min_left = 0.0, max_left = 1.4;
/// Lambda amplitudes: the component is 1 to within a multiple of q = <t t t t>/<t t>, the size of the amplitudes
/// squared, or to within a constant, because q is small for orbitals that spread over a large molecule. Correct
/// amplitudes have 0.55 to 1.08 for strongly stretched bonds, where q is 0.1 to 0.6, and 0.92 to 1.01 near equilibrium.
constexpr double component_per_size = 40.0, max_deviation = 0.15, usual_deviation = 0.05, min_lambda = 0.2;
/// Limits of 1 - cosine of l and t for Lambda amplitudes, in the same way. Correct amplitudes have at most 1.03 q (N2
/// at 1.9 Angstrom, 0.075), and near equilibrium at most 0.4 q (0.004). 2 l - l^T gives 0.2 to 170 q, orbitals in
/// another order 2 to 1000 q, another geometry 0.1 to 1000 q.
constexpr double misalignment_per_size = 4.0, max_misalignment = 0.015;
constexpr double usual_misalignment_per_size = 1.2, usual_misalignment = 0.005;
/// Limits of the component for Lambda singles. Correct singles have 0.22 to 1.35. They are compared only if the length
/// of the right t1 is at least `least_singles`.
constexpr double min_left_singles = 0.02, max_left_singles = 3.0, least_singles = 1e-4;
/// Left and right CCSD amplitudes solve the same equations: their difference is at most 2e-5 of the length of t2 (one
/// of them converged to 1e-4 and one tightly, 7 molecules; 5e-3 for 1e-3). Lambda amplitudes of the same molecules
/// differ by 0.0077 to 0.23, regularised ones with omega2 = 0.1 by 0.033 to 0.32.
constexpr double usual_difference = 2e-3;
/// Amplitudes of very small length say nothing about their directions.
constexpr double least_length = 1e-10;

/// Returns the size of right doubles squared: their mean square, weighted with the squares.
double size_squared(const AmplitudeOverlap& overlap) {
  return overlap.right_fourth / overlap.right_right;
}

/// Returns 1 - the cosine of left and right doubles.
double misalignment(const AmplitudeOverlap& overlap) {
  return 1.0 - overlap.left_right / std::sqrt(overlap.left_left * overlap.right_right);
}

/// Compares left doubles with right doubles. Lambda amplitudes are close to the CCSD amplitudes, but never equal.
Witness left_doubles(const AmplitudeOverlap& overlap, const SourceInfo& amplitudes, const SourceInfo& integrals) {
  const std::string name = "left doubles", files = files_of(amplitudes, integrals);
  if (overlap.right_right < least_length) return unknown_witness(name, "the right amplitudes t2 are almost zero");
  const double ratio = overlap.left_right / overlap.right_right;
  if (amplitudes.amplitudes == AmplitudeKind::lambda && overlap.difference == 0.0) {
    return {name, WitnessStatus::failed, ratio, max_left,
            fmt::format("{}: the left amplitudes are said to be Lambda amplitudes, but they are the right amplitudes "
                        "t2; give the solution of the Lambda equations, or no left amplitudes.",
                        files)};
  }
  const bool lambda = amplitudes.amplitudes == AmplitudeKind::lambda;
  const double allowed = std::max(component_per_size * size_squared(overlap), max_deviation);
  const double least = lambda ? std::max(min_lambda, 1.0 - allowed) : min_left;
  const double most = lambda ? std::min(max_left, 1.0 + allowed) : max_left;
  if (!(ratio > least && ratio < most)) {
    return {name, WitnessStatus::failed, ratio, limit_of(ratio, least, most),
            fmt::format("{}: left doubles l and right doubles t give <l t>/<t t> = {:.3g}, but it is about 1 for "
                        "amplitudes of the same calculation, and {:.3g} to {:.3g} are possible; the left amplitudes "
                        "have another sign or factor, are zero, or are of another kind or calculation.",
                        files, ratio, least, most)};
  }
  if (!lambda) return failed_if(false, name, ratio, most, "");
  const double found = misalignment(overlap);
  const double limit = std::max(misalignment_per_size * size_squared(overlap), max_misalignment);
  return failed_if(
      !(found <= limit), name, found, limit,
      fmt::format("{}: the Lambda doubles have another direction than t2: 1 - cosine is {:.3g}, but at most {:.3g} is "
                  "possible; they are of another calculation (other geometry, or solved before t1 and t2), or have "
                  "another order of orbitals or another combination of spins.",
                  files, found, limit),
      fmt::format("this is 1 - cosine of l and t; <l t>/<t t> is {:.3g}, limits {:.3g} and {:.3g}", ratio, least,
                  most));
}

/// Compares Lambda singles with t1.
Witness left_singles(const AmplitudeOverlap& overlap, const SourceInfo& amplitudes, const SourceInfo& integrals) {
  const std::string name = "left singles", files = files_of(amplitudes, integrals);
  if (overlap.right_right < least_singles) return unknown_witness(name, "the right amplitudes t1 are almost zero");
  const double ratio = overlap.left_right / overlap.right_right;
  const bool same = overlap.difference == 0.0;
  return failed_if(same || !(ratio >= min_left_singles && ratio <= max_left_singles), name, ratio,
                   limit_of(ratio, min_left_singles, max_left_singles),
                   fmt::format("{}: left singles l and right singles t {}; the Lambda singles have another sign or "
                               "factor, are zero, or are not the solution of the Lambda equations.",
                               files,
                               same ? "are the same numbers"
                                    : fmt::format("give <l t>/<t t> = {:.3g}, but {:g} to {:g} are possible", ratio,
                                                  min_left_singles, max_left_singles)));
}

/// Returns a warning about Lambda doubles that differ from t2 more than usual; nullopt if there is no reason for one.
std::optional<std::string> unusual_lambda(const AmplitudeOverlap& overlap, const std::string& files) {
  const double size = size_squared(overlap), deviation = std::abs(overlap.left_right / overlap.right_right - 1.0);
  const double turned = misalignment(overlap);
  const bool usual = !(deviation > std::max(component_per_size * size, usual_deviation)) &&
                     !(turned > std::max(usual_misalignment_per_size * size, usual_misalignment));
  if (usual) return std::nullopt;
  return fmt::format(
      "{}: the Lambda doubles differ unusually from t2: their component along t2 deviates from 1 by {:.2g}, "
      "and 1 - cosine is {:.2g}; they may be of another kind or calculation.",
      files, deviation, turned);
}

/// Returns a warning about left amplitudes that are said to be CCSD amplitudes, as the right ones, but differ from
/// these.
std::optional<std::string> unstated_kind(const AmplitudeOverlap& overlap, const std::string& files) {
  const double difference = std::sqrt(overlap.difference / overlap.right_right);
  if (overlap.right_right < least_length || difference <= usual_difference) return std::nullopt;
  return fmt::format(
      "{}: the left amplitudes are said to be CCSD amplitudes, but the norm of their difference from t2 is {:.2g} "
      "|t2|; "
      "if they are Lambda or regularised amplitudes, state their kind (lambda, or reg-ccsd with its omega2).",
      files, difference);
}

}

void add_left_witnesses(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals,
                        CheckReport& report) {
  if (!measured.with_right) return;
  report.witnesses.push_back(left_doubles(*measured.with_right, amplitudes, integrals));
  const AmplitudeOverlap& overlap = *measured.with_right;
  const bool lambda = amplitudes.amplitudes == AmplitudeKind::lambda;
  const bool both_ccsd = amplitudes.amplitudes == AmplitudeKind::ccsd && integrals.amplitudes == AmplitudeKind::ccsd;
  if (lambda && measured.singles_with_right) {
    report.witnesses.push_back(left_singles(*measured.singles_with_right, amplitudes, integrals));
  }
  const std::string files = files_of(amplitudes, integrals);
  auto warning = lambda ? unusual_lambda(overlap, files) : both_ccsd ? unstated_kind(overlap, files) : std::nullopt;
  if (warning) report.warnings.push_back(std::move(*warning));
}

}
