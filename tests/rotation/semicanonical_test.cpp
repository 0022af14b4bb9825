#include "cxx/rotation/semicanonical.hpp"
#include "cxx/calculation/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/support/transformed_source.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

CalculationOptions semicanonical() {
  CalculationOptions options = options_for();
  options.rohf = RohfOrbitals::semicanonical;
  return options;
}

/// The source in rotated orbitals, with several tiles for each class and irrep.
std::unique_ptr<TileSource> rotated_and_cut(const TileSource& source, unsigned seed) {
  return copy_in_tiles(*rotated_source(source, random_rotations(source.tiles(), seed)), 2, 3);
}

/// A source that may differ from the sources of other ranks.
class OddSource final : public TileSource {
 public:
  bool unreadable = false;  ///< true: reading integrals fails
  bool negative_fock = false;

  explicit OddSource(const TileSource& sound) : sound_(sound) {}
  const SourceInfo& info() const override { return sound_.info(); }
  const TileSpace& tiles() const override { return sound_.tiles(); }
  std::span<const double> orbital_energies() const override { return sound_.orbital_energies(); }
  bool has_integrals() const override { return sound_.has_integrals(); }
  bool has_fock() const override { return sound_.has_fock(); }
  void read_fock(int g6, int g5, std::span<double> block) const override {
    sound_.read_fock(g6, g5, block);
    if (negative_fock) std::transform(block.begin(), block.end(), block.begin(), std::negate());
  }
  void read_t1(int p, int h, std::span<double> block) const override { sound_.read_t1(p, h, block); }
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override {
    sound_.read_t2(p1, p2, h3, h4, block);
  }
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override {
    if (unreadable) throw InputError("There is a hole in the disk.");
    sound_.read_v2(g3, g4, g1, g2, block);
  }

 private:
  const TileSource& sound_;
};

TEST(SemicanonicalOrbitals, DiagonaliseTheFockMatrixOfEachSpinAndIrrep) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 3, 6, 8}, 2));
  const auto rotated = rotated_and_cut(*source, 3);
  SemicanonicalSource result(*rotated, *rotated);
  result.rotate(nullptr);
  const TileSpace& space = result.tiles();
  for (int t = 0; t < space.size(); ++t) {
    const auto n = static_cast<std::size_t>(space[t].size);
    std::vector<double> fock(n * n);
    result.read_fock(t, t, fock);
    for (std::size_t x = 0; x < n; ++x) {
      for (std::size_t y = 0; y < n; ++y) {
        const double energy = result.orbital_energies()[static_cast<std::size_t>(space[t].offset) + x];
        EXPECT_NEAR(fock[x * n + y], x == y ? energy : 0.0, 1e-14);
      }
    }
  }
}

TEST(SemicanonicalOrbitals, UndoAnyRotationOfTheOccupiedAndOfTheVirtualOrbitals) {
  // The made-up Fock matrix is diagonal, so all rotations must give the energies of the unrotated orbitals.
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 3, 6, 8}, 2));
  const auto expected = numbers_of(calculate(*source, semicanonical()));
  for (const unsigned seed : {1u, 2u}) {
    const auto rotated = rotated_source(*source, random_rotations(source->tiles(), seed));
    EXPECT_LT(relative_difference(numbers_of(calculate(*rotated, semicanonical())), expected), 1e-12);
  }
}

TEST(SemicanonicalOrbitals, UndoARotationOnTheLeftToo) {
  const SyntheticMolecule molecule = open_shell(Reference::rohf, {4, 2, 4, 6});
  const auto right = make_synthetic_source(molecule), left = make_synthetic_source(other_amplitudes(molecule));
  const auto expected = numbers_of(calculate(*right, semicanonical(), left.get()));
  const auto rotations = random_rotations(right->tiles(), 4);
  const auto rotated_right = rotated_source(*right, rotations), rotated_left = rotated_source(*left, rotations);
  const auto found = numbers_of(calculate(*rotated_right, semicanonical(), rotated_left.get()));
  EXPECT_LT(relative_difference(found, expected), 1e-12);
}

TEST(SemicanonicalOrbitals, HaveTheSameBitsForAnyNumberOfBlasThreads) {
  const auto source = open_dump_of("ch2_631g_c2v_rohf_t3");
  set_blas_threads(1);
  const auto expected = numbers_of(calculate(*source, semicanonical()));
  for (const int threads : {2, 4}) {
    set_blas_threads(threads);
    EXPECT_EQ(numbers_of(calculate(*source, semicanonical())), expected);
  }
}

/// All numbers of a source, block after block.
std::vector<double> everything_in(const TileSource& source) {
  const MemorySource copy = copy_of(source);
  std::vector<double> numbers(copy.orbital_energies().begin(), copy.orbital_energies().end());
  const auto add = [&](std::span<const double> block) { numbers.insert(numbers.end(), block.begin(), block.end()); };
  for (const Block& b : copy.fock_index().blocks()) add(copy.fock(b.tiles[0], b.tiles[1]));
  for (const Block& b : copy.t1_index().blocks()) add(copy.t1(b.tiles[0], b.tiles[1]));
  for (const Block& b : copy.t2_index().blocks()) add(copy.t2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3]));
  for (const Block& b : copy.v2_index().blocks()) add(copy.v2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3]));
  return numbers;
}

TEST(SemicanonicalOrbitals, AreTheRotatedOnesInEveryBlock) {
  // After a rotation and its inverse the tensor is unchanged, except for the signs of eigenvectors.
  for (const int irreps : {1, 2, 4}) {
    const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 3, 6, 8}, irreps));
    const auto rotated = rotated_and_cut(*source, 5);
    SemicanonicalSource result(*rotated, *rotated);
    result.rotate(nullptr);
    const std::vector<double> found = everything_in(result), expected = everything_in(*copy_in_tiles(*source, 2, 3));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t n = 0; n < found.size(); ++n) EXPECT_NEAR(std::abs(found[n]), std::abs(expected[n]), 1e-12) << n;
  }
}

TEST(SemicanonicalOrbitals, HaveTheSameBitsIfNoRankHasAllOfThem) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 4, 9, 10}, 2));
  const auto rotated = rotated_and_cut(*source, 6);
  SemicanonicalSource alone(*rotated, *rotated);
  alone.rotate(nullptr);
  const std::vector<double> expected = everything_in(alone);
  for (const int ranks : {1, 2, 3, 7}) {
    for (const bool arrays : {false, true}) {
      std::atomic<std::int64_t> all{0}, most{0};
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            SemicanonicalSource result(*rotated, *rotated);
            result.rotate(&communicator);
            EXPECT_EQ(everything_in(result), expected) << ranks << " ranks";
            all += result.own_bytes();
            for (std::int64_t seen = most; seen < result.own_bytes();) {
              if (most.compare_exchange_weak(seen, result.own_bytes())) break;
            }
            run_collectively(&communicator, [] {});  // other ranks may still read memory of this rank
          },
          arrays);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
      EXPECT_EQ(static_cast<double>(all), (arrays ? 1 : ranks) * alone.cost().bytes);
      if (arrays) {
        EXPECT_LT(static_cast<double>(most), 1.3 * alone.cost().bytes / ranks);
      }
    }
  }
}

TEST(SemicanonicalOrbitals, RotateFactorsInPlaceOfIntegrals) {
  for (const int irreps : {1, 2, 4}) {
    const SyntheticMolecule molecule = open_shell(Reference::rohf, {5, 3, 6, 8}, irreps);
    const FactoredProblem problem(molecule, SpinFormulation::spin_orbital);
    const auto fock = rotated_source(problem.with_integrals, random_rotations(problem.with_integrals.tiles(), 7));
    SemicanonicalSource stored(problem.with_integrals, *fock), result(problem.with_factors, *fock);
    EXPECT_EQ(stored.factors(), nullptr);
    ASSERT_NE(result.factors(), nullptr);
    EXPECT_EQ(result.factors()->auxiliary(), problem.with_factors.auxiliary());
    std::vector<double> none(1);
    EXPECT_THROW(
        result.factors()->read_ov({OrbitalClass::hole_alpha, 0, 1}, {OrbitalClass::particle_alpha, 0, 1}, none),
        std::logic_error);
    EXPECT_THROW(result.factors()->visit_vv(OrbitalClass::particle_alpha, 0, 19, 1, [](const FactorBand&) {}),
                 std::logic_error);
    stored.rotate(nullptr);
    result.rotate(nullptr);
    EXPECT_LT(result.cost().bytes, stored.cost().bytes);
    EXPECT_EQ(result.cost().bytes, static_cast<double>(result.own_bytes()));
    EXPECT_EQ(result.cost().factor_bytes, 8.0 * 19 * (5 * (5 + 6) + 3 * (3 + 8)));
    const std::vector<double> found = everything_in(result), expected = everything_in(stored);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t n = 0; n < found.size(); ++n) ASSERT_NEAR(found[n], expected[n], 1e-14) << n;
    EXPECT_GT(relative_difference(found, everything_in(problem.with_factors)), 0.01);

    const Plan plan = make_plan(stored.tiles(), SpinFormulation::spin_orbital);
    const auto energies_of = [&](const SemicanonicalSource& source) {
      Problem of_source = problem.of_factors;
      of_source.right = &source;
      return task_numbers(*make_cpu_executor(of_source, plan.tiles), plan, 1);
    };
    const std::vector<double> energies = energies_of(result);
    EXPECT_LT(relative_difference(energies, energies_of(stored)), 1e-12);
    const auto failures = failures_of_ranks(
        3,
        [&](Communicator& communicator) {
          SemicanonicalSource shared(problem.with_factors, *fock);
          shared.rotate(&communicator);
          EXPECT_EQ(energies_of(shared), energies);
          run_collectively(&communicator, [] {});  // other ranks may still read memory of this rank
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

TEST(SemicanonicalOrbitals, AreTheOrbitalsOfRankZeroOnAllRanks) {
  const auto source = rotated_and_cut(*make_synthetic_source(open_shell(Reference::rohf, {5, 4, 9, 10}, 2)), 7);
  SemicanonicalSource alone(*source, *source);
  alone.rotate(nullptr);
  const std::vector<double> expected = everything_in(alone);
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        // Rank 1 gets other eigenvectors, as if LAPACK gave other results on its processor.
        OddSource odd(*source);
        odd.negative_fock = communicator.rank() == 1;
        SemicanonicalSource result(odd, odd);
        odd.negative_fock = false;
        if (communicator.rank() == 1) {
          EXPECT_NE(result.orbital_energies().front(), expected.front());
        }
        result.rotate(&communicator);
        EXPECT_EQ(everything_in(result), expected) << "rank " << communicator.rank();
        run_collectively(&communicator, [] {});
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(SemicanonicalOrbitals, FailOnAllRanksIfOneCannotRead) {
  const auto failures = failures_of_ranks(
      3,
      [](Communicator& communicator) {
        const auto sound = make_synthetic_source(open_shell(Reference::rohf, {5, 4, 9, 10}));
        OddSource source(*sound);
        source.unreadable = communicator.rank() == 1;
        SemicanonicalSource(source, source).rotate(&communicator);
        ADD_FAILURE() << "a rank went on";
      },
      true);
  const std::string sentence = "There is a hole in the disk.";
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 1 failed: " + sentence, sentence, "Rank 1 failed: " + sentence}));
}

TEST(SemicanonicalOrbitals, StopOnAllRanksIfOneStops) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 4, 9, 10}));
  const std::atomic<bool> stop{true};
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        SemicanonicalSource(*source, *source).rotate(&communicator, communicator.rank() == 2 ? &stop : nullptr);
        ADD_FAILURE() << "a rank went on";
      },
      true);
  const std::string sentence = "Stopped before the first task; nothing had been computed.";
  const std::string of_others = "Rank 2 failed: " + sentence;
  EXPECT_EQ(failures, (std::vector<std::string>{of_others, of_others, sentence}));
  EXPECT_THROW(Calculation(*source, nullptr, semicanonical()).run(&stop), Interrupted);
}

TEST(SemicanonicalOrbitals, CostTheOperationsOfTheirProducts) {
  // With one tile for each class, each block is rotated once in each index.
  const auto whole = make_synthetic_source({Reference::rohf, 6, 5, 14, 15, 1, 20, 20, 1});
  double expected = 0.0;
  for (const BlockIndex& index : {t2_blocks(whole->tiles()), triples_v2_blocks(whole->tiles())}) {
    for (const Block& block : index.blocks()) {
      for (const int tile : block.tiles) {
        expected += 2.0 * static_cast<double>(block.size * whole->tiles()[tile].size);
      }
    }
  }
  EXPECT_EQ(rotation_cost(*whole).operations, expected);
  // With smaller tiles, only half of the pairs of tiles are stored, so the other two indices need fewer operations.
  const auto cut = make_synthetic_source({Reference::rohf, 6, 5, 14, 15, 1, 2, 3, 1});
  EXPECT_LT(rotation_cost(*cut).operations, expected);
  EXPECT_GT(rotation_cost(*cut).operations, 0.5 * expected);
}

TEST(SemicanonicalOrbitals, NeedOnlyAPartOfTheMemoryOnEachRank) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {6, 5, 14, 15}));
  CalculationOptions options = semicanonical();
  options.tile_size = 4;
  options.threads = 1;
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  const SemicanonicalSource rotated(*source, *source);
  const double bytes = rotated.cost().bytes;
  EXPECT_GE(rotated.cost().peak(4), 2.5 * bytes / 4);
  // With any number of ranks, each rank rotates at least one group of blocks at a time.
  EXPECT_GE(rotated.cost().peak(1000), 2.0 * 3 * 3 * 6 * 15 * sizeof(double));
  options.memory = static_cast<std::int64_t>(2.0 * bytes);
  EXPECT_THROW(Calculation(*source, nullptr, options), UsageError);
  const auto run_distributed = [&](const RankAssignment& assignment) {
    return failures_of_ranks(
        4,
        [&](Communicator& communicator) {
          Calculation calculation(*source, nullptr, options, {.ranks_with_operands = communicator.size()});
          EXPECT_NEAR(static_cast<double>(calculation.memory().rotated), bytes, 1.0);
          calculation.join(communicator, assignment);
          EXPECT_EQ(numbers_of(calculation.run()), alone);
        },
        true);
  };
  EXPECT_EQ(run_distributed({}), std::vector<std::string>(4));
  RankAssignment little;
  little.memory = 0.5 * bytes;
  for (const std::string& failure : run_distributed(little)) {
    EXPECT_NE(failure.find("Each of 4 ranks needs"), std::string::npos) << failure;
    EXPECT_NE(failure.find("to rotate orbitals, but the memory of its host allows"), std::string::npos) << failure;
  }
}

TEST(SemicanonicalOrbitals, NeedAFockMatrix) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {3, 2, 3, 4}));
  const MemorySource complete = copy_of(*source);
  const MemorySource without_fock(complete.tiles(),
                                  {complete.orbital_energies().begin(), complete.orbital_energies().end()},
                                  complete.info(), {.integrals = true, .fock = false});
  EXPECT_THROW(SemicanonicalSource(without_fock, without_fock), InputError);
}

TEST(SemicanonicalOrbitals, AreRefusedForOtherReferencesThanRohf) {
  for (const Reference reference : {Reference::rhf, Reference::uhf}) {
    const auto source = make_synthetic_source(open_shell(reference, {3, 3, 4, 4}));
    EXPECT_THROW(Calculation(*source, nullptr, semicanonical()), UsageError);
  }
}

}
}
