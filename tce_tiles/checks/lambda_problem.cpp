#include "tce_tiles/checks/lambda_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trifuse {
namespace {

/// Lower limit for differences of orbital energies in denominators, hartree. Only nonsensical molecules have smaller
/// ones.
constexpr double smallest_gap = 0.1;

}

std::pair<double, double> LambdaProblem::edges(int s) const {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (std::int64_t a = o(s); a < o(s) + v(s); ++a) lowest = std::min(lowest, fock_element(s, a, a));
  for (std::int64_t k = 0; k < o(s); ++k) highest = std::max(highest, fock_element(s, k, k));
  return {lowest, highest};
}

std::vector<double> LambdaProblem::combination(int s) const {
  std::vector<double> x;
  const double lowest = edges(s).first;
  for (std::int64_t k = 0; k < o(s); ++k) {
    // The pattern of signs has no short period, so that no symmetry of the orbitals cancels an error.
    const double sign = k * (k + 1) / 2 % 2 == 0 ? 1.0 : -1.0;
    x.push_back(sign / std::max(smallest_gap, lowest - fock_element(s, k, k)));
  }
  return x;
}

LambdaResidual LambdaProblem::largest_step(const std::array<std::vector<double>, 2>& eta) const {
  LambdaResidual found;
  for (int s = 0; s < spins(); ++s) {
    if (o(s) * v(s) == 0) continue;
    const auto [lowest, highest] = edges(s);
    const double gap = std::max(smallest_gap, lowest - highest);
    for (std::int64_t c = 0; c < v(s); ++c) {
      const double above = std::max(smallest_gap, fock_element(s, o(s) + c, o(s) + c) - highest);
      const double step = std::abs(eta[static_cast<std::size_t>(s)][static_cast<std::size_t>(c)]) * gap / above;
      if (std::isnan(step)) return {step, s, c};
      if (step > found.step) found = {step, s, c};
    }
  }
  return found;
}

}
