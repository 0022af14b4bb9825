#include "cxx/triples/terms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace trifuse {
namespace {

std::vector<Term> terms_of(TermKind kind) {
  std::vector<Term> found;
  std::copy_if(terms.begin(), terms.end(), std::back_inserter(found), [&](const Term& t) { return t.kind == kind; });
  return found;
}

constexpr std::array<TermKind, 3> kinds = {TermKind::singles, TermKind::hole_doubles, TermKind::particle_doubles};

TEST(TermTable, HasNineTermsOfEachKindNumberedFromOneToNine) {
  for (const TermKind kind : kinds) {
    const auto nine = terms_of(kind);
    ASSERT_EQ(nine.size(), 9u);
    for (std::size_t n = 0; n < 9; ++n) EXPECT_EQ(nine[n].number, n + 1);
  }
}

TEST(TermTable, HasEveryPairOfLoneIndicesOncePerKind) {
  for (const TermKind kind : kinds) {
    std::set<std::pair<int, int>> pairs;
    for (const Term& term : terms_of(kind)) pairs.insert({term.particle, term.hole});
    EXPECT_EQ(pairs.size(), 9u);
  }
}

TEST(TermTable, HasTheSamePositionsOfOtherIndicesInAscendingOrder) {
  EXPECT_EQ(others(0), (std::array{1, 2}));
  EXPECT_EQ(others(1), (std::array{0, 2}));
  EXPECT_EQ(others(2), (std::array{0, 1}));
}

/// NWChem's kernels as in its sources, in the order of their numbers. The left side of each is t3[k,j,i,c,b,a].
constexpr std::array<const char*, 9> singles_kernels = {
    "+= t1[a,i] * v2[k,j,c,b]", "-= t1[a,j] * v2[k,i,c,b]", "+= t1[a,k] * v2[j,i,c,b]",
    "-= t1[b,i] * v2[k,j,c,a]", "+= t1[b,j] * v2[k,i,c,a]", "-= t1[b,k] * v2[j,i,c,a]",
    "+= t1[c,i] * v2[k,j,b,a]", "-= t1[c,j] * v2[k,i,b,a]", "+= t1[c,k] * v2[j,i,b,a]"};
constexpr std::array<const char*, 9> hole_kernels = {
    "-= t2[l,a,b,i] * v2[k,j,c,l]", "+= t2[l,a,b,j] * v2[k,i,c,l]", "-= t2[l,a,b,k] * v2[j,i,c,l]",
    "-= t2[l,b,c,i] * v2[k,j,a,l]", "+= t2[l,b,c,j] * v2[k,i,a,l]", "-= t2[l,b,c,k] * v2[j,i,a,l]",
    "+= t2[l,a,c,i] * v2[k,j,b,l]", "-= t2[l,a,c,j] * v2[k,i,b,l]", "+= t2[l,a,c,k] * v2[j,i,b,l]"};
constexpr std::array<const char*, 9> particle_kernels = {
    "-= t2[d,a,i,j] * v2[d,k,c,b]", "-= t2[d,a,j,k] * v2[d,i,c,b]", "+= t2[d,a,i,k] * v2[d,j,c,b]",
    "+= t2[d,b,i,j] * v2[d,k,c,a]", "+= t2[d,b,j,k] * v2[d,i,c,a]", "-= t2[d,b,i,k] * v2[d,j,c,a]",
    "-= t2[d,c,i,j] * v2[d,k,b,a]", "-= t2[d,c,j,k] * v2[d,i,b,a]", "+= t2[d,c,i,k] * v2[d,j,b,a]"};

/// Compares the lone indices of the terms with the texts of the kernels. The lone particle is character `particle` of a
/// text, the lone hole character `hole`.
void expect_kernels(TermKind kind, const std::array<const char*, 9>& kernels, std::size_t particle, std::size_t hole) {
  const auto rows = terms_of(kind);
  for (std::size_t n = 0; n < 9; ++n) {
    const std::string kernel = kernels[n];
    EXPECT_EQ(rows[n].sign, kernel[0] == '+' ? 1 : -1) << kernel;
    EXPECT_EQ(rows[n].particle, kernel[particle] - 'a') << kernel;
    EXPECT_EQ(rows[n].hole, kernel[hole] - 'i') << kernel;
  }
}

TEST(TermTable, HasTheRowsOfNwchemsKernels) {
  expect_kernels(TermKind::singles, singles_kernels, 6, 8);
  expect_kernels(TermKind::hole_doubles, hole_kernels, 24, 12);
  expect_kernels(TermKind::particle_doubles, particle_kernels, 8, 22);
}

/// Random tensors over a few spin orbitals, antisymmetric in each pair.
class Tensor {
 public:
  static constexpr int n = 4;

  explicit Tensor(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(-1.0, 1.0);
    for (int p = 0; p < n; ++p)
      for (int q = 0; q < p; ++q)
        for (int r = 0; r < n; ++r)
          for (int s = 0; s < r; ++s) {
            const double x = number(random);
            at(p, q, r, s) = at(q, p, s, r) = x;
            at(q, p, r, s) = at(p, q, s, r) = -x;
          }
  }
  double operator()(int p, int q, int r, int s) const { return const_cast<Tensor*>(this)->at(p, q, r, s); }

 private:
  double& at(int p, int q, int r, int s) { return data_[static_cast<std::size_t>(((p * n + q) * n + r) * n + s)]; }
  std::array<double, n * n * n * n> data_{};
};

using Triple = std::array<int, 3>;

/// The sum of all terms of one kind for particles p and holes h.
double evaluate(TermKind kind, const Triple& p, const Triple& h) {
  static const Tensor t(1), v(2);
  double sum = 0.0;
  for (const Term& term : terms_of(kind)) {
    const auto particle = [&](int position) { return p[static_cast<std::size_t>(position)]; };
    const auto hole = [&](int position) { return h[static_cast<std::size_t>(position)]; };
    const auto pp = others(term.particle), hh = others(term.hole);
    const int lone_p = particle(term.particle), lone_h = hole(term.hole);
    for (int x = 0; x < Tensor::n; ++x) {
      switch (kind) {
        case TermKind::singles:
          if (x == 0)
            sum += term.sign * t(lone_p, 0, lone_h, 1) * v(particle(pp[0]), particle(pp[1]), hole(hh[0]), hole(hh[1]));
          break;
        case TermKind::hole_doubles:
          sum += term.sign * t(particle(pp[0]), particle(pp[1]), lone_h, x) * v(x, lone_p, hole(hh[0]), hole(hh[1]));
          break;
        case TermKind::particle_doubles:
          sum += term.sign * t(lone_p, x, hole(hh[0]), hole(hh[1])) * v(particle(pp[0]), particle(pp[1]), lone_h, x);
          break;
      }
    }
  }
  return sum;
}

TEST(TermTable, GivesTriplesThatAreAntisymmetricInParticlesAndInHoles) {
  for (const TermKind kind : kinds) {
    const double value = evaluate(kind, {0, 1, 2}, {1, 2, 3});
    EXPECT_GT(std::abs(value), 1e-3);
    for (const Triple swapped : {Triple{1, 0, 2}, Triple{0, 2, 1}, Triple{2, 1, 0}}) {
      EXPECT_NEAR(evaluate(kind, swapped, {1, 2, 3}), -value, 1e-14);
    }
    for (const Triple swapped : {Triple{2, 1, 3}, Triple{1, 3, 2}, Triple{3, 2, 1}}) {
      EXPECT_NEAR(evaluate(kind, {0, 1, 2}, swapped), -value, 1e-14);
    }
    EXPECT_NEAR(evaluate(kind, {0, 1, 1}, {1, 2, 3}), 0.0, 1e-14);
    EXPECT_NEAR(evaluate(kind, {0, 1, 2}, {3, 2, 3}), 0.0, 1e-14);
  }
}

}
}
