#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "cxx/calculation/fingerprint.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "tests/support/factored_source.hpp"
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
  other_omega2.problem.quotients = {0.1};
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

TEST(FingerprintOfAProblem, OfFactorsIsTheSameForAnyNumberOfRanks) {
  const FactoredProblem closed(closed_shell(5, 9, 2), SpinFormulation::spin_adapted),
      open(open_shell(Reference::rohf, {4, 3, 7, 6}), SpinFormulation::spin_orbital);
  SemicanonicalSource rotated(open.with_factors, open.with_factors);
  rotated.rotate(nullptr);
  Problem semicanonical = open.of_factors;
  semicanonical.right = &rotated;
  for (const Problem& problem : {closed.of_factors, open.of_factors, semicanonical}) {
    const Fingerprint alone = fingerprint(problem);
    for (const int ranks : {1, 2, 5}) {
      const auto failures = failures_of_ranks(
          ranks, [&](Communicator& communicator) { EXPECT_EQ(fingerprint(problem, &communicator), alone); });
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    }
  }
}

TEST(FingerprintOfAProblem, TellsFactorsApart) {
  std::vector<Fingerprint> all;
  for (const std::int64_t auxiliary : {19, 20}) {
    const FactoredProblem closed(closed_shell(4, 7), SpinFormulation::spin_adapted, false, auxiliary);
    const FactoredProblem open(open_shell(Reference::uhf, {4, 3, 7, 6}), SpinFormulation::spin_orbital, false,
                               auxiliary);
    for (const Problem& problem : {closed.of_factors, closed.of_integrals, open.of_factors, open.of_integrals}) {
      all.push_back(fingerprint(problem));
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

/// A source of factors that fails if it has to make integrals from them.
class FactorsOnly final : public TileSource, public FactorSource {
 public:
  explicit FactorsOnly(const FactoredSource& source) : source_(source) {}

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return source_.has_fock(); }
  bool concurrent_reads() const override { return true; }
  const FactorSource* factors() const override { return this; }
  std::int64_t auxiliary() const override { return source_.auxiliary(); }
  void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                const FactorVisitor& visit) const override {
    source_.visit_vv(particles, begin, end, threads, [&](const FactorBand& band) {
      visit(band);
      read_ += band.count * band.particles * band.particles;
    });
  }
  void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const override {
    source_.read_oo(i, j, out);
    read_ += i.count * j.count * auxiliary();
  }
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override {
    source_.read_ov(h, p, out);
    read_ += h.count * p.count * auxiliary();
  }
  void read_fock(int g6, int g5, std::span<double> block) const override { source_.read_fock(g6, g5, block); }
  void read_t1(int p, int h, std::span<double> block) const override { source_.read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    source_.read_t2(p1, p2, h3, h4, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    if (tiles()[g3].space() == Space::particle) throw Error("Integrals were made.");
    source_.read_v2(g3, g4, g1, g2, block);
  }
  /// Number of factors that were read.
  std::int64_t read() const { return read_; }

 private:
  const FactoredSource& source_;
  mutable std::atomic<std::int64_t> read_{0};
};

// The integrals that factors give would take as many operations as all panels of a run.
TEST(FingerprintOfAProblem, MakesNoIntegralsFromFactors) {
  for (const SyntheticMolecule& molecule :
       {closed_shell(4, 7), closed_shell(5, 9, 2), open_shell(Reference::uhf, {4, 3, 7, 6}, 2)}) {
    const FactoredSource source(molecule, 19, false);
    const FactorsOnly factors(source);
    Problem problem;
    problem.right = &factors;
    problem.formulation = default_formulation(source.tiles());
    EXPECT_NO_THROW(fingerprint(problem));
    const TileSpace& tiles = source.tiles();
    std::int64_t all = 0;
    using enum OrbitalClass;
    for (const auto& [hole, particle] : {std::pair{hole_alpha, particle_alpha}, std::pair{hole_beta, particle_beta}}) {
      if (tiles.restricted() && spin_of(hole) == Spin::beta) continue;
      const std::int64_t o = tiles.orbitals(hole), v = tiles.orbitals(particle);
      all += factors.auxiliary() * v * (o + v);
    }
    EXPECT_EQ(factors.read(), all);
  }
}

}
}
