#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tce_tiles/checks/lambda_residual.hpp"
#include "tce_tiles/checks/singles_equation.hpp"

namespace trifuse {

/// The numbers of orbitals and the small arrays of the Lambda equations.
struct LambdaProblem : SinglesProblem {
  std::array<std::vector<double>, 2> l1;  ///< lambda[i,a], shape [o,v]

  /// Returns the number of spins that the arrays distinguish.
  int spins() const { return restricted ? 1 : 2; }
  std::int64_t o(int s) const { return occupied[static_cast<std::size_t>(s)]; }
  std::int64_t v(int s) const { return virtuals[static_cast<std::size_t>(s)]; }
  /// Returns true if there are no doubles of the spins p and r.
  bool empty(int p, int r) const { return o(p) * o(r) * v(p) * v(r) == 0; }
  /// Returns 2 for a restricted reference, where a sum over one spin stands for both.
  double both() const { return restricted ? 2.0 : 1.0; }
  /// Returns f[p,q].
  double fock_element(int s, std::int64_t p, std::int64_t q) const {
    return fock[static_cast<std::size_t>(s)][static_cast<std::size_t>(p * (o(s) + v(s)) + q)];
  }
  /// Returns the lowest virtual and the highest occupied orbital energy.
  std::pair<double, double> edges(int s) const;
  /// Returns the combination of occupied orbitals k that the equations evaluate: x_k = +-1 / (lowest virtual energy -
  /// eps_k), [o].
  std::vector<double> combination(int s) const;
  /// Returns the largest step of the residual eta[c] by spin.
  LambdaResidual largest_step(const std::array<std::vector<double>, 2>& eta) const;
};

}
