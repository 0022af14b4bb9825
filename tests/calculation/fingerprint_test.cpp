#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "cxx/calculation/fingerprint.hpp"
#include "tests/support/other_methods.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// The fingerprint distinguishes the journals of different calculations.
namespace trifuse::testing {
namespace {

TEST(FingerprintOfAProblem, IsTheSameForAnyNumberOfRanksAndThreads) {
  const OwnedProblem owned(open_shell(Reference::uhf, {5, 4, 8, 7}, 2), SpinFormulation::spin_orbital, true);
  const auto dump = open_dump_of("ch2_631g_c2v_rohf_t3");
  Problem of_files;
  of_files.right = dump.get();
  for (const Problem& problem : {owned.problem, of_files}) {
    const Fingerprint alone = fingerprint(problem);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(threads == 1 ? 3 : 1);
    EXPECT_EQ(fingerprint(problem), alone);
    omp_set_num_threads(threads);
    for (const int ranks : {1, 2, 5}) {
      const auto failures = failures_of_ranks(
          ranks, [&](Communicator& communicator) { EXPECT_EQ(fingerprint(problem, &communicator), alone); });
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    }
  }
}

TEST(FingerprintOfAProblem, TellsCalculationsApart) {
  std::vector<Fingerprint> all;
  const auto add = [&](const OwnedProblem& owned) { all.push_back(fingerprint(owned.problem)); };
  SyntheticMolecule molecule = closed_shell(4, 7);
  add(OwnedProblem(molecule, SpinFormulation::spin_adapted));
  add(OwnedProblem(molecule, SpinFormulation::spin_orbital));
  add(OwnedProblem(molecule, SpinFormulation::spin_adapted, true));
  OwnedProblem other_omega2(molecule, SpinFormulation::spin_adapted);
  other_omega2.problem.omega2 = {0.1};
  add(other_omega2);
  OwnedProblem with_fock(molecule, SpinFormulation::spin_adapted);
  with_fock.problem.method = ccsd_t_with_fock;
  add(with_fock);
  for (const Method& method : other_methods) {
    OwnedProblem other(molecule, SpinFormulation::spin_adapted);
    other.problem.method = method;
    add(other);
  }
  ++molecule.seed;
  add(OwnedProblem(molecule, SpinFormulation::spin_adapted));
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace trifuse::testing
