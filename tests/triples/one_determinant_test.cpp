#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tce_tiles/tiles/memory_source.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_sources.hpp"
#include "tests/support/tile_spaces.hpp"

/// Three electrons of one spin in three occupied and three virtual orbitals have one triple excitation, so E[T] and
/// E(T) are simple expressions. All amplitudes and integrals are zero except those that a test sets.
namespace trifuse {
namespace {

using namespace trifuse::testing;

// The holes i, j, k are one tile, the particles a, b, c another. The orbitals of each tile are 0, 1, 2.
constexpr int h = 0, p = 1;
constexpr int a = 0, b = 1, c = 2, i = 0, j = 1, k = 2;
constexpr double delta = -0.9 - 0.6 - 0.5 - 0.3 - 0.7 - 1.1;

using Element = std::array<int, 4>;

/// A block with one nonzero element of an antisymmetric tensor and its images, in C order.
class PairBlock {
 public:
  enum class Antisymmetric : std::uint8_t { upper, lower, both };

  PairBlock(const Element& x, double value, Antisymmetric pairs) {
    const bool upper = pairs != Antisymmetric::lower, lower = pairs != Antisymmetric::upper;
    set(x, value);
    if (upper) set({x[1], x[0], x[2], x[3]}, -value);
    if (lower) set({x[0], x[1], x[3], x[2]}, -value);
    if (upper && lower) set({x[1], x[0], x[3], x[2]}, value);
  }
  operator std::span<const double>() const { return data_; }

 private:
  void set(const Element& x, double value) {
    data_[static_cast<std::size_t>(((x[0] * 3 + x[1]) * 3 + x[2]) * 3 + x[3])] = value;
  }
  std::vector<double> data_ = std::vector<double>(81);
};
using enum PairBlock::Antisymmetric;

class ThreeParallelSpins : public ::testing::Test {
 protected:
  explicit ThreeParallelSpins(Reference reference = Reference::uhf)
      : source({{tile(OrbitalClass::hole_alpha, 3), tile(OrbitalClass::particle_alpha, 3)}, false},
               {-0.9, -0.6, -0.5, 0.3, 0.7, 1.1}, info(reference), {.integrals = true, .fock = true}) {
    const auto zeros = [](const Block& block) { return std::vector<double>(static_cast<std::size_t>(block.size)); };
    for (const Block& x : source.fock_index().blocks()) source.set_fock(x.tiles[0], x.tiles[1], zeros(x));
    for (const Block& x : source.t1_index().blocks()) source.set_t1(x.tiles[0], x.tiles[1], zeros(x));
    for (const Block& x : source.t2_index().blocks()) {
      source.set_t2(x.tiles[0], x.tiles[1], x.tiles[2], x.tiles[3], zeros(x));
    }
    for (const Block& x : source.v2_index().blocks()) {
      source.set_v2(x.tiles[0], x.tiles[1], x.tiles[2], x.tiles[3], zeros(x));
    }
  }

  /// D = - t2[a d, i j] v2[b c, k d] with d = b.
  void set_connected(double d) {
    source.set_t2(p, p, h, h, PairBlock({a, b, i, j}, 0.5, both));
    source.set_v2(p, p, h, p, PairBlock({b, c, k, b}, -2.0 * d, upper));
  }
  /// S = + t1[a, i] v2[b c, j k].
  void set_disconnected(double s) {
    source.set_t1(p, h, std::vector<double>{0.25, 0, 0, 0, 0, 0, 0, 0, 0});
    source.set_v2(p, p, h, h, PairBlock({b, c, j, k}, 4.0 * s, both));
  }

  std::vector<TriplesEnergy> energies(CalculationOptions options) const { return calculate(source, options).energies; }
  void expect_energy(double e_bracket_t, double e_paren_t, CalculationOptions options = options_for()) const {
    for (const ExecutorKind executor : {ExecutorKind::reference, ExecutorKind::cpu}) {
      options.executor = executor;
      const Energies found = energies(options).front().total;
      EXPECT_NEAR(found.e_bracket_t, e_bracket_t, 1e-16);
      EXPECT_NEAR(found.e_paren_t, e_paren_t, 1e-16);
    }
  }

  MemorySource source;

 private:
  static SourceInfo info(Reference reference) {
    SourceInfo info;
    info.path = "three electrons";
    info.reference = reference;
    return info;
  }
};

TEST_F(ThreeParallelSpins, WithoutAmplitudesHaveNoEnergy) {
  expect_energy(0.0, 0.0);
}

TEST_F(ThreeParallelSpins, HaveOneParticleTerm) {
  set_connected(0.06);
  expect_energy(0.06 * 0.06 / delta, 0.06 * 0.06 / delta);
}

TEST_F(ThreeParallelSpins, HaveOneHoleTerm) {
  // D = - t2[a b, i l] v2[l c, j k] with l = j.
  source.set_t2(p, p, h, h, PairBlock({a, b, i, j}, 0.2, both));
  source.set_v2(h, p, h, h, PairBlock({j, c, j, k}, 0.4, lower));
  expect_energy(0.08 * 0.08 / delta, 0.08 * 0.08 / delta);
}

TEST_F(ThreeParallelSpins, AddDisconnectedToConnectedTriples) {
  set_connected(0.06);
  set_disconnected(-0.02);
  expect_energy(0.06 * 0.06 / delta, (0.06 - 0.02) * 0.06 / delta);
}

TEST_F(ThreeParallelSpins, WithDisconnectedTriplesOnlyHaveNoEnergy) {
  source.set_t1(p, h, std::vector<double>{0.25, 0, 0, 0, 0, 0, 0, 0, 0});
  source.set_v2(p, p, h, h, PairBlock({b, c, j, k}, 0.1, both));
  expect_energy(0.0, 0.0);
}

TEST_F(ThreeParallelSpins, ShiftTheDenominatorByThreeOmega2) {
  set_connected(0.06);
  CalculationOptions options = options_for();
  options.omega2 = {0.1, 1.0};
  const auto found = energies(options);
  EXPECT_NEAR(found[0].total.e_bracket_t, 0.0036 / (delta - 0.3), 1e-16);
  EXPECT_NEAR(found[1].total.e_bracket_t, 0.0036 / (delta - 3.0), 1e-16);
}

TEST_F(ThreeParallelSpins, BelongToTheAlphaAlphaAlphaCase) {
  set_connected(0.06);
  const auto found = energies(options_for()).front();
  EXPECT_EQ(found.spin_cases[0].e_bracket_t, found.total.e_bracket_t);
  for (const std::size_t other : {1u, 2u, 3u}) EXPECT_EQ(found.spin_cases[other].e_bracket_t, 0.0);
}

TEST_F(ThreeParallelSpins, HaveOtherAmplitudesOnTheLeft) {
  set_connected(0.06);
  const MemorySource right = copy_of(source);
  set_disconnected(0.01);
  source.set_t2(p, p, h, h, PairBlock({a, b, i, j}, 0.75, both));  // D on the left is 0.09
  for (const ExecutorKind executor : {ExecutorKind::reference, ExecutorKind::cpu}) {
    CalculationOptions options = options_for();
    options.executor = executor;
    // The integrals come from the right source, which has no integrals for S.
    const Energies found = calculate(right, options, &source).energies.front().total;
    EXPECT_NEAR(found.e_bracket_t, 0.09 * 0.06 / delta, 1e-16);
    EXPECT_NEAR(found.e_paren_t, 0.09 * 0.06 / delta, 1e-16);
  }
}

class ThreeParallelSpinsOfRohf : public ThreeParallelSpins {
 protected:
  ThreeParallelSpinsOfRohf() : ThreeParallelSpins(Reference::rohf) {
    set_connected(0.06);
    // The Fock matrix is diagonal in each class, so nothing is rotated. S = + f[c, k] t2[a b, i j].
    source.set_fock(h, h, std::vector<double>{-0.9, 0, 0, 0, -0.6, 0, 0, 0, -0.5});
    source.set_fock(p, p, std::vector<double>{0.3, 0, 0, 0, 0.7, 0, 0, 0, 1.1});
    source.set_fock(p, h, std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0.04});
    source.set_fock(h, p, std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0.04});
  }
};

TEST_F(ThreeParallelSpinsOfRohf, HaveNoFockTermAsNwchemHasIt) {
  expect_energy(0.06 * 0.06 / delta, 0.06 * 0.06 / delta);
}

TEST_F(ThreeParallelSpinsOfRohf, HaveAFockTermInSemicanonicalOrbitals) {
  CalculationOptions options = options_for();
  options.rohf = RohfOrbitals::semicanonical;
  expect_energy(0.06 * 0.06 / delta, (0.06 + 0.04 * 0.5) * 0.06 / delta, options);
}

}
}
