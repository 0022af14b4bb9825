#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cxx/triples/problem.hpp"
#include "cxx/triples/reference_tensors.hpp"
#include "cxx/triples/terms.hpp"

/// One element of the triples in the formulas of the literature, for the reference evaluation of energies and of
/// derivatives. Products are listed by functions that call `visit(coefficient, x, y)` for each product of two numbers;
/// their sum is D, W or S.
namespace trifuse {

using OrbitalTriple = std::array<std::int64_t, 3>;  ///< orbitals a, b, c or i, j, k

inline std::int64_t pick(const OrbitalTriple& x, int position) {
  return x[static_cast<std::size_t>(position)];
}

/// A number of ReferenceTensors with four indices.
struct Number4 {
  Dense4 ReferenceTensors::*tensor;
  std::int64_t u1, u2, l1, l2;
  double of(const ReferenceTensors& x) const { return (x.*tensor)(u1, u2, l1, l2); }
  double& of(ReferenceTensors& x) const { return (x.*tensor)(u1, u2, l1, l2); }
};
/// A number of an ov tensor.
struct NumberOv {
  OvTensor tensor;
  std::size_t pair;
  double of(const ReferenceTensors& x) const { return x.ov(tensor)[pair]; }
  double& of(ReferenceTensors& x) const { return (tensor == OvTensor::t1 ? x.t1 : x.fock)[pair]; }
};

/// Lists the products of D of one element in the spin-orbital formulation, term by term.
template <typename Visit>
void spin_orbital_products(const ReferenceTensors& x, const OrbitalTriple& p, const OrbitalTriple& h, Visit visit) {
  using R = ReferenceTensors;
  for (const Term& term : terms) {
    const auto pp = others(term.particle), hh = others(term.hole);
    const std::int64_t lone_p = pick(p, term.particle), lone_h = pick(h, term.hole);
    const std::int64_t p1 = pick(p, pp[0]), p2 = pick(p, pp[1]), h1 = pick(h, hh[0]), h2 = pick(h, hh[1]);
    const double sign = term.sign;
    if (term.kind == TermKind::hole_doubles) {
      for (std::int64_t l = 0; l < x.holes; ++l)
        visit(sign, Number4{&R::t2, p1, p2, lone_h, l}, Number4{&R::ovoo, l, lone_p, h1, h2});
    } else if (term.kind == TermKind::particle_doubles) {
      for (std::int64_t d = x.holes; d < x.orbitals; ++d)
        visit(sign, Number4{&R::t2, lone_p, d, h1, h2}, Number4{&R::vvov, p1, p2, lone_h, d});
    }
  }
}

/// Lists the products of the disconnected triples of sets.
template <typename Visit>
void spin_orbital_products(const ReferenceTensors& x, std::span<const DisconnectedSet> sets, const OrbitalTriple& p,
                           const OrbitalTriple& h, Visit visit) {
  using R = ReferenceTensors;
  for (const Term& term : terms) {
    if (term.kind != TermKind::singles) continue;
    const auto pp = others(term.particle), hh = others(term.hole);
    const auto pair = static_cast<std::size_t>(pick(p, term.particle) * x.orbitals + pick(h, term.hole));
    for (const DisconnectedSet& set : sets) {
      visit(term.sign * set.weight, NumberOv{set.ov, pair},
            Number4{set.vvoo == VvooTensor::v2 ? &R::vvoo : &R::t2, pick(p, pp[0]), pick(p, pp[1]), pick(h, hh[0]),
                    pick(h, hh[1])});
    }
  }
}

/// Spatial amplitudes and integrals, taken from the opposite-spin elements. `beta` returns the beta orbital of the same
/// spatial orbital as an alpha orbital.
struct Spatial {
  std::int64_t all_holes;         ///< of both spins
  std::int64_t holes, particles;  ///< numbers of orbitals of one spin

  std::int64_t beta(std::int64_t orbital) const { return orbital + (orbital < all_holes ? holes : particles); }
  Number4 t(std::int64_t i, std::int64_t j, std::int64_t a, std::int64_t b) const {
    return {&ReferenceTensors::t2, a, beta(b), i, beta(j)};
  }
  Number4 ovov(std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t b) const {
    return {&ReferenceTensors::vvoo, a, beta(b), i, beta(j)};
  }
  Number4 ovvv(std::int64_t i, std::int64_t a, std::int64_t b, std::int64_t d) const {
    return {&ReferenceTensors::vvov, a, beta(b), i, beta(d)};
  }
  Number4 ovoo(std::int64_t k, std::int64_t c, std::int64_t j, std::int64_t l) const {
    return {&ReferenceTensors::ovoo, l, beta(c), j, beta(k)};
  }
};

/// Lists the products of W_ijk^abc of one element: `p` = {a, b, c}, `h` = {i, j, k}.
template <typename Visit>
void adapted_products(const Spatial& of, const OrbitalTriple& p, const OrbitalTriple& h, Visit visit) {
  static constexpr int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& q : permutations) {
    const std::int64_t a = pick(p, q[0]), b = pick(p, q[1]), c = pick(p, q[2]);
    const std::int64_t i = pick(h, q[0]), j = pick(h, q[1]), k = pick(h, q[2]);
    for (std::int64_t d = of.all_holes; d < of.all_holes + of.particles; ++d)
      visit(1.0, of.ovvv(i, a, b, d), of.t(k, j, c, d));
    for (std::int64_t l = 0; l < of.holes; ++l) visit(-1.0, of.ovoo(i, a, j, l), of.t(l, k, b, c));
  }
}

/// Lists the products of the disconnected triples of sets of one element, S_ijk^abc.
template <typename Visit>
void adapted_products(const ReferenceTensors& x, const Spatial& of, std::span<const DisconnectedSet> sets,
                      const OrbitalTriple& p, const OrbitalTriple& h, Visit visit) {
  for (std::size_t factor = 0; factor < 3; ++factor) {
    const auto [x1, x2] = others(static_cast<int>(factor));
    const auto q1 = static_cast<std::size_t>(x1), q2 = static_cast<std::size_t>(x2);
    const auto pair = static_cast<std::size_t>(p[factor] * x.orbitals + h[factor]);
    for (const DisconnectedSet& set : sets) {
      visit(set.weight, NumberOv{set.ov, pair},
            set.vvoo == VvooTensor::v2 ? of.ovov(h[q1], p[q1], h[q2], p[q2]) : of.t(h[q1], h[q2], p[q1], p[q2]));
    }
  }
}

/// Calls `function` with all orders of 0, 1, 2.
template <typename Function>
void six_orders(Function function) {
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      if (b != a) function(a, b, 3 - a - b);
}

/// Numbers of the six orders of three particles, [a][b][c], for holes in their own order. Another order of the holes
/// only permutes these numbers.
struct Orders {
  double of[3][3][3] = {};

  /// The number of the particles a, b, c that belong to the holes i, j, k.
  double operator()(const std::array<int, 3>& holes, const std::array<int, 3>& particles) const {
    int particle[3];
    for (std::size_t q = 0; q < 3; ++q) particle[holes[q]] = particles[q];
    return of[particle[0]][particle[1]][particle[2]];
  }
  double antisymmetrised() const {
    double sum = 0.0;
    six_orders([&](int a, int b, int c) { sum += ((b - a + 3) % 3 == 1 ? 1.0 : -1.0) * of[a][b][c]; });
    return sum;
  }
};

/// Computes the numerator 1/3 sum (4 W^abc + W^bca + W^cab)(V^abc - V^cba) over all orders of abc and of ijk. `v`: the
/// left factor. `w`: the right factor.
inline double numerator_of_all_spins(const Orders& v, const Orders& w) {
  double all = 0.0;
  six_orders([&](int i, int j, int k) {
    const std::array holes{i, j, k};
    six_orders([&](int a, int b, int c) {
      all += (4.0 * w(holes, {a, b, c}) + w(holes, {b, c, a}) + w(holes, {c, a, b})) / 3.0 *
             (v(holes, {a, b, c}) - v(holes, {c, b, a}));
    });
  });
  return all;
}

/// Returns true if executors leave out an element: it is zero by antisymmetry, and its denominator has no meaning.
inline bool is_left_out(SpinFormulation formulation, const OrbitalTriple& p, const OrbitalTriple& h) {
  if (formulation == SpinFormulation::spin_adapted)
    return (p[0] == p[1] && p[1] == p[2]) || (h[0] == h[1] && h[1] == h[2]);
  return p[0] == p[1] || p[1] == p[2] || p[0] == p[2] || h[0] == h[1] || h[1] == h[2] || h[0] == h[2];
}

/// Calls visit(p, h) for all elements of a task.
template <typename Visit>
void for_each_element(const TileSpace& tiles, const Task& task, Visit visit) {
  std::array<std::array<std::int64_t, 2>, 6> box;
  for (std::size_t q = 0; q < 3; ++q) {
    const Tile& p = tiles[task.particles[q]];
    const Tile& h = tiles[task.holes[q]];
    box[q] = {p.offset, p.offset + p.size};
    box[3 + q] = {h.offset, h.offset + h.size};
  }
  for (std::int64_t a = box[0][0]; a < box[0][1]; ++a)
    for (std::int64_t b = box[1][0]; b < box[1][1]; ++b)
      for (std::int64_t c = box[2][0]; c < box[2][1]; ++c)
        for (std::int64_t i = box[3][0]; i < box[3][1]; ++i)
          for (std::int64_t j = box[4][0]; j < box[4][1]; ++j)
            for (std::int64_t k = box[5][0]; k < box[5][1]; ++k) visit(OrbitalTriple{a, b, c}, OrbitalTriple{i, j, k});
}

}
