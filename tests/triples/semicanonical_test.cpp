#include "cxx/triples/semicanonical.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/blas.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/molecules.hpp"
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

TEST(SemicanonicalOrbitals, DiagonaliseTheFockMatrixOfEachSpinAndIrrep) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {5, 3, 6, 8}, 2));
  const auto rotated = rotated_source(*source, random_rotations(source->tiles(), 3));
  const auto result = make_semicanonical(*rotated, *rotated);
  const TileSpace& space = result->tiles();
  for (int t = 0; t < space.size(); ++t) {
    const auto n = static_cast<std::size_t>(space[t].size);
    std::vector<double> fock(n * n);
    result->read_fock(t, t, fock);
    for (std::size_t x = 0; x < n; ++x) {
      for (std::size_t y = 0; y < n; ++y) {
        const double energy = result->orbital_energies()[static_cast<std::size_t>(space[t].offset) + x];
        EXPECT_NEAR(fock[x * n + y], x == y ? energy : 0.0, 1e-14);
      }
    }
  }
}

TEST(SemicanonicalOrbitals, UndoAnyRotationOfTheOccupiedAndOfTheVirtualOrbitals) {
  // The made-up Fock matrix is diagonal to begin with, so both must give the energies of the unrotated orbitals.
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

TEST(SemicanonicalOrbitals, HaveTheSameBitsWhateverThreadsTheBlasLibraryHad) {
  const auto source = open_dump_of("ch2_631g_c2v_rohf_t3");
  set_blas_threads(1);
  const auto expected = numbers_of(calculate(*source, semicanonical()));
  for (const int threads : {2, 4}) {
    set_blas_threads(threads);
    EXPECT_EQ(numbers_of(calculate(*source, semicanonical())), expected);
  }
}

TEST(SemicanonicalOrbitals, NeedAFockMatrix) {
  const auto source = make_synthetic_source(open_shell(Reference::rohf, {3, 2, 3, 4}));
  const MemorySource complete = MemorySource::copy_of(*source);
  const MemorySource without_fock(complete.tiles(),
                                  {complete.orbital_energies().begin(), complete.orbital_energies().end()},
                                  complete.info(), {.integrals = true, .fock = false});
  EXPECT_THROW(make_semicanonical(without_fock, without_fock), InputError);
}

TEST(SemicanonicalOrbitals, AreRefusedForOtherReferencesThanRohf) {
  for (const Reference reference : {Reference::rhf, Reference::uhf}) {
    const auto source = make_synthetic_source(open_shell(reference, {3, 3, 4, 4}));
    EXPECT_THROW(Calculation(*source, nullptr, semicanonical()), UsageError);
  }
}

}  // namespace
}  // namespace trifuse
