#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/plan/plan.hpp"
#include "tce_tiles/checks/source_check.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/expected_energies.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/held_arrays.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/support/transformed_source.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

std::unique_ptr<TileSource> dump_of_pyscf(const std::string& name) {
  return open_dump((pyscf_data() / name).string(), dense_hole_tile, dense_particle_tile);
}

/// The diagonal of the Fock matrix, in the order of the orbital energies.
std::vector<double> diagonal_of_fock(const TileSource& source) {
  std::vector<double> energies(source.orbital_energies().begin(), source.orbital_energies().end());
  const TileSpace& space = source.tiles();
  for (int t = 0; t < space.size(); ++t) {
    const Tile& tile = space[t];
    std::vector<double> block(static_cast<std::size_t>(tile.size * tile.size));
    source.read_fock(tile.partner, tile.partner, block);
    for (std::int64_t n = 0; n < tile.size; ++n) {
      energies[static_cast<std::size_t>(tile.offset + n)] = block[static_cast<std::size_t>(n * (tile.size + 1))];
    }
  }
  return energies;
}

/// The same molecule in other orbitals, with the orbital energies of a program that takes them from the Fock matrix.
std::unique_ptr<TileSource> mixed_orbitals(const TileSource& source, unsigned seed) {
  const auto rotations = random_rotations(source.tiles(), seed);
  return rotated_source(source, rotations, diagonal_of_fock(*rotated_source(source, rotations)));
}

bool any_contains(const std::vector<std::string>& sentences, const std::string& part) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& sentence) { return sentence.find(part) != std::string::npos; });
}

/// A source with facts and a Fock matrix of its own.
class OtherFock final : public TileSource {
 public:
  SourceInfo facts;
  double added_between = 0.0;  ///< added to each f_ia, hartree
  double asymmetry = 0.0;      ///< added to each f_pq with p < q, hartree

  OtherFock(const TileSource& source, const TileSource& fock) : facts(source.info()), source_(source), fock_(fock) {}
  const SourceInfo& info() const override { return facts; }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return source_.orbital_energies(); }
  bool has_integrals() const override { return true; }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return source_.concurrent_reads(); }
  const FactorSource* factors() const override { return source_.factors(); }
  void read_fock(int g6, int g5, std::span<double> block) const override {
    fock_.read_fock(g6, g5, block);
    const Tile &upper = tiles()[g6], &lower = tiles()[g5];
    for (std::int64_t n = 0; n < upper.size * lower.size; ++n) {
      double& f = block[static_cast<std::size_t>(n)];
      if (upper.space() != lower.space()) f += added_between;
      if (upper.offset + n / lower.size < lower.offset + n % lower.size) f += asymmetry;
    }
  }
  void read_t1(int p, int h, std::span<double> block) const override { source_.read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    source_.read_t2(p1, p2, h3, h4, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    source_.read_v2(g3, g4, g1, g2, block);
  }

 private:
  const TileSource& source_;
  const TileSource& fock_;
};

TEST(Orbitals, OfACanonicalInputAreNotRotated) {
  for (const char* const name : {"h2o_631g_rhf.h5", "h2o_631g_rhf_c2v.h5", "oh_631g_uhf.h5"}) {
    const auto source = dump_of_pyscf(name);
    const Calculation calculation(*source, nullptr, options_for());
    EXPECT_EQ(calculation.memory().rotated, 0);
    EXPECT_EQ(calculation.reference_note(), "");
    EXPECT_EQ(calculation.input_warnings(), std::vector<std::string>());
    EXPECT_EQ(calculation.problem().right, source.get());
  }
}

TEST(Orbitals, ThatAreNotCanonicalGiveTheCanonicalEnergies) {
  for (const char* const name : {"h2o_631g_rhf.h5", "h2o_631g_rhf_c2v.h5", "oh_631g_uhf.h5"}) {
    SCOPED_TRACE(name);
    const auto source = dump_of_pyscf(name);
    const auto expected = numbers_of(calculate(*source));
    const auto mixed = mixed_orbitals(*source, 3);
    const Calculation calculation(*mixed, nullptr, options_for());
    EXPECT_EQ(calculation.plan().formulation, default_formulation(source->tiles()));
    EXPECT_NE(calculation.reference_note().find("semicanonical orbitals"), std::string::npos);
    EXPECT_GT(calculation.memory().rotated, 0);
    const CalculationResult result = calculation.run();
    EXPECT_LT(relative_difference(numbers_of(result), expected), 1e-11);
    EXPECT_TRUE(any_contains(result.warnings, "not canonical")) << result.warnings.size();
    EXPECT_FALSE(has_failed(verify_source(*mixed, *mixed, false)));

    // The same numbers in a dump and in arrays of a caller.
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "mixed.h5").string();
    write_dump(*mixed, path);
    const auto dump = open_dump(path, dense_hole_tile, dense_particle_tile);
    EXPECT_LT(relative_difference(numbers_of(calculate(*dump)), expected), 1e-11);
    EXPECT_FALSE(has_failed(verify_source(*dump, *dump, false)));
    const HeldArrays arrays(read_raw_dump(path), HeldArrays::Layout::c_order);
    const auto held = arrays.open(dump->info());
    // A GPU packs panels from the arrays of such a source in place.
    EXPECT_NE(dense_input_of(*held), nullptr);
    EXPECT_EQ(dense_input_of(*Calculation(*held, nullptr, options_for()).problem().right), nullptr);
    EXPECT_LT(relative_difference(numbers_of(calculate(*held)), expected), 1e-11);

    for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
      if (formulation == SpinFormulation::spin_adapted && !source->tiles().restricted()) continue;
      CalculationOptions options = options_for(formulation);
      const auto of_formulation = numbers_of(calculate(*source, options));
      EXPECT_LT(relative_difference(numbers_of(calculate(*mixed, options)), of_formulation), 1e-11);
    }
  }
}

TEST(Orbitals, OfAClosedShellAreRotatedForTheReferenceEvaluationToo) {
  const auto source = make_synthetic_source(closed_shell(3, 4, 2));
  const auto mixed = mixed_orbitals(*source, 5);
  CalculationOptions options = options_for();
  const auto expected = numbers_of(calculate(*source));
  options.executor = ExecutorKind::reference;
  EXPECT_LT(relative_difference(numbers_of(calculate(*mixed, options)), expected), 1e-11);
}

TEST(Orbitals, OfLeftAmplitudesAreRotatedAsThoseOfTheRightOnes) {
  for (const char* const left_name : {"h2o_631g_lambda.h5", "h2o_631g_left_0.1.h5"}) {
    const auto right = dump_of_pyscf("h2o_631g_rhf.h5"), left = dump_of_pyscf(left_name);
    const auto expected = numbers_of(calculate(*right, options_for(), left.get()));
    const auto rotations = random_rotations(right->tiles(), 4);
    const auto mixed = mixed_orbitals(*right, 4);
    const auto mixed_left = rotated_source(*left, rotations, diagonal_of_fock(*mixed));
    EXPECT_LT(relative_difference(numbers_of(calculate(*mixed, options_for(), mixed_left.get())), expected), 1e-11);
  }
}

TEST(Orbitals, OfFactorsAreRotatedAsThoseOfIntegrals) {
  const std::vector<NamedMolecule> molecules = {{"RHF", closed_shell(4, 6)},
                                                {"RHF with irreps", closed_shell(5, 7, 4)},
                                                {"UHF", open_shell(Reference::uhf, {4, 3, 5, 6}, 2)}};
  for (const NamedMolecule& named : molecules) {
    for (const SpinFormulation formulation : named.formulations()) {
      SCOPED_TRACE(named.name + ", " + to_string(formulation));
      const FactoredProblem problem(named.molecule, formulation);
      const auto fock = mixed_orbitals(problem.with_integrals, 7);
      const OtherFock factors(problem.with_factors, *fock), integrals(problem.with_integrals, *fock);
      CalculationOptions options = options_for(formulation, 3);
      const auto expected = numbers_of(calculate(integrals, options));
      EXPECT_LT(relative_difference(numbers_of(calculate(factors, options)), expected), 1e-11);
      EXPECT_GT(relative_difference(numbers_of(calculate(problem.with_integrals, options)), expected), 1e-3);
      const TemporaryFolder folder;
      options.journal = (folder.path() / "journal").string();
      EXPECT_LT(relative_difference(numbers_of(calculate(factors, options)), expected), 1e-11);
      EXPECT_GT(calculate(factors, options).tasks_from_journal, 0u);
    }
  }
}

TEST(Orbitals, OfAClosedShellAreRotatedOnRanksThatShareThem) {
  const auto source = make_synthetic_source(closed_shell(5, 8, 2));
  const auto mixed = mixed_orbitals(*source, 6);
  const CalculationOptions options = options_for({}, 4);
  const std::vector<double> alone = numbers_of(calculate(*mixed, options));
  EXPECT_LT(relative_difference(alone, numbers_of(calculate(*source, options))), 1e-11);
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        Calculation calculation(*mixed, nullptr, options, {.ranks_with_operands = communicator.size()});
        calculation.join(communicator, {});
        EXPECT_EQ(numbers_of(calculation.run()), alone);
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(Orbitals, TakeTheMemoryOfOneSpinCaseInTheSpinAdaptedFormulation) {
  const auto mixed = mixed_orbitals(*make_synthetic_source(closed_shell(4, 6)), 2);
  const auto bytes_in = [&](SpinFormulation formulation) {
    return Calculation(*mixed, nullptr, options_for(formulation)).memory().rotated;
  };
  EXPECT_EQ(bytes_in(SpinFormulation::spin_adapted), 8 * (2 * 16 * 36 + 64 * 6 + 4 * 216));
  EXPECT_GT(bytes_in(SpinFormulation::spin_orbital), 2 * bytes_in(SpinFormulation::spin_adapted));
}

TEST(Orbitals, WithAFockMatrixThatIsNotSymmetricAreRefused) {
  const auto source = dump_of_pyscf("h2o_631g_rhf.h5");
  OtherFock odd(*source, *source);
  odd.asymmetry = 1e-3;
  try {
    const Calculation calculation(odd, nullptr, options_for());
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("not symmetric"), std::string::npos);
  }
}

TEST(FockInTriples, EntersAsTheInputStatesAndByItsSizeIfNothingIsStated) {
  using enum FockInTriples;
  struct Case {
    const char* source;
    FockInTriples stated;
    double f_ia;
    bool enters;
    const char *warning, *note;  ///< a part; empty: there must be none
  };
  const char *const rhf = "h2o_631g_rhf.h5", *const uhf = "oh_631g_uhf.h5", *const rohf = "ch2_631g_rohf.h5";
  const std::vector<Case> cases = {
      {rhf, not_stated, 3e-9, false, "", ""},
      {rhf, not_stated, 1e-7, true, "", ""},
      {rhf, not_stated, 3e-6, true, "", "f_ov t2"},
      {rhf, not_stated, 0.02, true, "does not state", "f_ov t2"},
      {uhf, not_stated, 0.02, true, "does not state", "f_ov t2"},
      {rhf, enters, 3e-9, true, "", ""},
      {uhf, enters, 0.02, true, "", "f_ov t2"},
      {rhf, left_out, 0.02, false, "left out", ""},
      {uhf, left_out, 1e-7, false, "", ""},
      {uhf, left_out, 3e-6, false, "left out", ""},
      {rohf, not_stated, 0.02, false, "", "no f_ov t2"},
      {rohf, left_out, 0.02, false, "", "no f_ov t2"},
      {rohf, enters, 0.02, true, "", "with the f_ov t2"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.source) + " " + std::to_string(static_cast<int>(each.stated)) + " " +
                 std::to_string(each.f_ia));
    const auto source = dump_of_pyscf(each.source);
    OtherFock input(*source, *source);
    input.facts.fock_in_triples = each.stated;
    input.added_between = each.f_ia;
    const Calculation calculation(input, nullptr, options_for());
    EXPECT_EQ(calculation.problem().method.needs_fock(), each.enters);
    const std::vector<std::string>& warnings = calculation.input_warnings();
    if (*each.warning == '\0') {
      EXPECT_EQ(warnings, std::vector<std::string>());
    } else {
      EXPECT_TRUE(any_contains(warnings, each.warning));
    }
    EXPECT_NE(calculation.reference_note().find(each.note), std::string::npos);
    EXPECT_EQ(calculation.reference_note().empty(), *each.note == '\0');
  }
}

TEST(FockInTriples, HasAllItsValuesInADump) {
  using enum FockInTriples;
  const auto source = dump_of_pyscf("h2o_631g_rhf.h5");
  for (const FockInTriples stated : {not_stated, enters, left_out}) {
    OtherFock input(*source, *source);
    input.facts.fock_in_triples = stated;
    const TemporaryFolder folder;
    const std::string path = (folder.path() / "dump.h5").string();
    write_dump(input, path);
    EXPECT_EQ(open_dump(path, dense_hole_tile, dense_particle_tile)->info().fock_in_triples, stated);
  }
}

}
}
