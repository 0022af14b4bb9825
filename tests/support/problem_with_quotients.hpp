#pragma once

#include <memory>
#include <vector>

#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/random_denominators.hpp"

/// Problems with quotients other than shifts by omega2.
namespace trifuse::testing {

/// Every denominator with every right factor.
inline std::vector<Quotient> all_quotients() {
  std::vector<Quotient> quotients;
  for (const RightFactor right : {RightFactor::connected, RightFactor::disconnected}) {
    for (const Denominator denominator : {Denominator::orbital_energies, Denominator::one_body, Denominator::two_body,
                                          Denominator::three_body, Denominator::one}) {
      quotients.emplace_back(denominator, right);
    }
    quotients.emplace_back(Denominator::orbital_energies, right);
    quotients.back().omega2 = 0.1;
  }
  return quotients;
}

/// A problem with all quotients.
struct ProblemWithQuotients : OwnedProblem {
  std::unique_ptr<TileSource> disconnected;
  TripleDenominators tables;

  ProblemWithQuotients(const SyntheticMolecule& molecule, SpinFormulation formulation, bool two_sided)
      : OwnedProblem(molecule, formulation, two_sided),
        disconnected(make_synthetic_source(other_amplitudes(other_amplitudes(molecule)))),
        tables(random_denominators(right->tiles(), formulation)) {
    if (two_sided) change_left_integrals();
    problem.disconnected = disconnected.get();
    problem.denominators = &tables;
    problem.quotients = all_quotients();
    problem.method = ccsd_t_with_fock;
  }
};

}
