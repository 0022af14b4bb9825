#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"

namespace trifuse {

/// A row of denominators: x of consecutive c is base + p[c] + q_a[c] + q_b[c].
struct DenominatorRow {
  double base;
  const double *p, *q_a, *q_b;
};

/// The denominators of the spin elements of a task that have the same holes, as sums over particles:
///
///     x = constant + P[a] + P[b] + P[c] + Q[a,b] + Q[a,c] + Q[b,c]
///
/// P and Q depend on the spins of the particles, and on which hole is beta: in the spin-adapted formulation none or one
/// of the three (see SpinElement). Tables are read once for all elements.
class DenominatorRows {
 public:
  /// `tables` must outlive the object. `denominator`: one with tables. `first`: numbers of the first a, b, c in the
  /// tables; `extent`: numbers of a, b, c. `spin_adapted`: false, if no hole can be beta.
  DenominatorRows(const TripleDenominators& tables, Denominator denominator, const std::array<std::int64_t, 3>& first,
                  const std::array<std::int64_t, 3>& extent, bool spin_adapted);

  /// Computes P and Q for the holes i, j, k, numbers in the tables.
  void set_holes(const std::array<std::int64_t, 3>& holes);

  /// Returns the row that begins at c. `a`, `b`, `c`: counted from the first ones. `beta_hole`, `beta_particle`:
  /// positions as in SpinElement. A row may be read to the end of row_length().
  DenominatorRow row(int beta_hole, int beta_particle, std::int64_t a, std::int64_t b, std::int64_t c) const {
    const OfHoles& of = cases_[static_cast<std::size_t>(beta_hole + 1)];
    const bool beta_a = beta_particle == 0, beta_b = beta_particle == 1, beta_c = beta_particle == 2;
    const auto at = [](std::int64_t place) { return static_cast<std::size_t>(place); };
    const std::vector<double>&q_ab = of.q[beta_a][beta_b][0], &q_ac = of.q[beta_a][beta_c][1],
          &q_bc = of.q[beta_b][beta_c][2];
    return {of.constant + of.p[beta_a][0][at(a)] + of.p[beta_b][1][at(b)] + q_ab[at(a * rows_[1] + b)],
            &of.p[beta_c][2][at(c)], &q_ac[at(a * rows_[2] + c)], &q_bc[at(b * rows_[2] + c)]};
  }

 private:
  /// P and Q for one choice of the hole beta. Spins are 0 (alpha) and 1 (beta).
  struct OfHoles {
    double constant = 0.0;
    std::vector<double> p[2][3];     ///< [spin][position][particle]
    std::vector<double> q[2][2][3];  ///< [spins][0: ab, 1: ac, 2: bc][first particle, second particle]
  };
  struct Hole {
    std::int64_t number;
    bool beta;
  };
  using Holes = std::array<Hole, 3>;

  void add_constant(const Holes& holes, double& constant) const;
  void set_vector(const Holes& holes, bool beta, std::size_t position, std::vector<double>& p) const;
  void set_matrix(const Holes& holes, bool first_beta, bool second_beta, const std::array<std::size_t, 2>& positions,
                  std::vector<double>& q) const;

  const TripleDenominators& tables_;
  Denominator denominator_;
  std::array<std::int64_t, 3> first_, extent_, rows_;  ///< rows_: lengths of rows of a, b, c
  std::vector<OfHoles> cases_;                         ///< [0]: no hole is beta, [1 + position of the hole beta]
};

}
