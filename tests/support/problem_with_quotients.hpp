#pragma once

#include <memory>
#include <vector>

#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_denominators.hpp"

/// Problems with quotients other than shifts by omega2.
namespace trifuse::testing {

/// Every denominator with every right factor, for the first left sides.
inline std::vector<Quotient> all_quotients(int left_sides) {
  std::vector<Quotient> quotients;
  for (const RightFactor right : {RightFactor::connected, RightFactor::disconnected, RightFactor::left}) {
    for (int n = 0; n < left_sides; ++n) {
      for (const Denominator denominator : {Denominator::orbital_energies, Denominator::one_body, Denominator::two_body,
                                            Denominator::three_body, Denominator::one}) {
        quotients.emplace_back(denominator, right, left_side(n));
      }
      quotients.emplace_back(Denominator::orbital_energies, right, left_side(n));
      quotients.back().omega2 = 0.1;
    }
  }
  return quotients;
}

/// A problem with all quotients. A second left side has amplitudes, integrals and sets of its own.
struct ProblemWithQuotients : OwnedProblem {
  std::unique_ptr<TileSource> disconnected;
  TripleDenominators tables;

  ProblemWithQuotients(const SyntheticMolecule& molecule, SpinFormulation formulation, int sides)
      : OwnedProblem(molecule, formulation, sides > 1),
        disconnected(make_synthetic_source(other_amplitudes(other_amplitudes(molecule)))),
        tables(random_denominators(right->tiles(), formulation)) {
    if (sides > 1) change_left_integrals();
    if (sides > 2) add_second_left(molecule);
    problem.disconnected = disconnected.get();
    problem.denominators = &tables;
    problem.quotients = all_quotients(problem.left_sides());
    problem.method = ccsd_t_with_fock;
  }
};

}
