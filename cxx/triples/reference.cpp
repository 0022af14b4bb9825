#include "cxx/triples/reference.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "cxx/triples/energy.hpp"
#include "cxx/triples/reference_tensors.hpp"
#include "cxx/triples/terms.hpp"
#include "cxx/triples/triple_denominators.hpp"

namespace trifuse {

class ReferenceEvaluation::Elements {
 public:
  Elements(const Problem& problem, const TileSpace& tiles)
      : problem_(problem),
        sets_(problem.sets()),
        tiles_(tiles),
        eps_(problem.right->orbital_energies()),
        right_(expand(problem.operands(Side::right), problem.needs_fock())) {
    for (int n = 0; n < problem.sides() - 1; ++n)
      lefts_.push_back(expand(problem.operands(left_side(n)), problem.method_of(n).needs_fock()));
    if (problem.disconnected != nullptr) disconnected_ = expand_amplitudes(*problem.disconnected);
  }

  void evaluate(const Task& task, std::span<TaskEnergy> energies) const {
    std::fill(energies.begin(), energies.end(), TaskEnergy{});
    std::array<std::array<std::int64_t, 2>, 6> box;
    for (std::size_t q = 0; q < 3; ++q) {
      const Tile& p = tiles_[task.particles[q]];
      const Tile& h = tiles_[task.holes[q]];
      box[q] = {p.offset, p.offset + p.size};
      box[3 + q] = {h.offset, h.offset + h.size};
    }
    for (std::int64_t a = box[0][0]; a < box[0][1]; ++a)
      for (std::int64_t b = box[1][0]; b < box[1][1]; ++b)
        for (std::int64_t c = box[2][0]; c < box[2][1]; ++c)
          for (std::int64_t i = box[3][0]; i < box[3][1]; ++i)
            for (std::int64_t j = box[4][0]; j < box[4][1]; ++j)
              for (std::int64_t k = box[5][0]; k < box[5][1]; ++k) {
                element(task, {a, b, c}, {i, j, k}, energies);
              }
  }

 private:
  using Triple = std::array<std::int64_t, 3>;

  static std::int64_t pick(const Triple& x, int position) { return x[static_cast<std::size_t>(position)]; }

  const ReferenceTensors& left(std::size_t n) const { return problem_.two_sided() ? lefts_[n] : right_; }
  /// The sets of left side number n. After those of the last left side there is the set of C3, or none.
  std::span<const DisconnectedSet> sets_of(std::size_t n) const {
    const int side = static_cast<int>(n), begin = side == 0 ? 0 : problem_.sets_end(side - 1),
              end = side < problem_.left_sides() ? problem_.sets_end(side) : problem_.disconnected_sets();
    return std::span(sets_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  std::size_t left_sides() const { return static_cast<std::size_t>(problem_.left_sides()); }
  static std::size_t number_of_left(const Quotient& quotient) { return quotient.left == Side::left ? 0 : 1; }

  /// Computes D of one element in the spin-orbital formulation, term by term.
  static double spin_orbital_connected(const ReferenceTensors& x, const Triple& p, const Triple& h) {
    double d = 0.0;
    for (const Term& term : terms) {
      const auto pp = others(term.particle), hh = others(term.hole);
      const std::int64_t lone_p = pick(p, term.particle), lone_h = pick(h, term.hole);
      const std::int64_t p1 = pick(p, pp[0]), p2 = pick(p, pp[1]), h1 = pick(h, hh[0]), h2 = pick(h, hh[1]);
      double sum = 0.0;
      if (term.kind == TermKind::hole_doubles) {
        for (std::int64_t l = 0; l < x.holes; ++l) sum += x.t2(p1, p2, lone_h, l) * x.ovoo(l, lone_p, h1, h2);
      } else if (term.kind == TermKind::particle_doubles) {
        for (std::int64_t e = x.holes; e < x.orbitals; ++e) sum += x.t2(lone_p, e, h1, h2) * x.vvov(p1, p2, lone_h, e);
      }
      d += term.sign * sum;
    }
    return d;
  }

  /// Computes the disconnected triples of sets of one element in the spin-orbital formulation, term by term.
  static double spin_orbital_disconnected(const ReferenceTensors& x, std::span<const DisconnectedSet> sets,
                                          const Triple& p, const Triple& h) {
    double s = 0.0;
    for (const Term& term : terms) {
      if (term.kind != TermKind::singles) continue;
      const auto pp = others(term.particle), hh = others(term.hole);
      const auto pair = static_cast<std::size_t>(pick(p, term.particle) * x.orbitals + pick(h, term.hole));
      for (const DisconnectedSet& set : sets) {
        const Dense4& vvoo = set.vvoo == VvooTensor::v2 ? x.vvoo : x.t2;
        s += term.sign * set.weight * x.ov(set.ov)[pair] *
             vvoo(pick(p, pp[0]), pick(p, pp[1]), pick(h, hh[0]), pick(h, hh[1]));
      }
    }
    return s;
  }

  /// Spatial amplitudes and integrals, taken from the opposite-spin elements. `beta` returns the beta orbital of the
  /// same spatial orbital as an alpha orbital.
  struct Spatial {
    const ReferenceTensors& x;
    std::int64_t holes, particles;  ///< numbers of orbitals of one spin
    std::int64_t beta(std::int64_t orbital) const { return orbital + (orbital < x.holes ? holes : particles); }
    double t(std::int64_t i, std::int64_t j, std::int64_t a, std::int64_t b) const {
      return x.t2(a, beta(b), i, beta(j));
    }
    double ovov(std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t b) const {
      return x.vvoo(a, beta(b), i, beta(j));
    }
    double ovvv(std::int64_t i, std::int64_t a, std::int64_t b, std::int64_t d) const {
      return x.vvov(a, beta(b), i, beta(d));
    }
    double ovoo(std::int64_t k, std::int64_t c, std::int64_t j, std::int64_t l) const {
      return x.ovoo(l, beta(c), j, beta(k));
    }
  };

  Spatial spatial(const ReferenceTensors& x) const {
    return {x, tiles_.orbitals(OrbitalClass::hole_alpha), tiles_.orbitals(OrbitalClass::particle_alpha)};
  }

  /// Computes W_ijk^abc of one element: `p` = {a, b, c}, `h` = {i, j, k}.
  double adapted_connected(const ReferenceTensors& x, const Triple& p, const Triple& h) const {
    const Spatial of = spatial(x);
    double w = 0.0;
    static constexpr int permutations[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const auto& q : permutations) {
      const std::int64_t a = pick(p, q[0]), b = pick(p, q[1]), c = pick(p, q[2]);
      const std::int64_t i = pick(h, q[0]), j = pick(h, q[1]), k = pick(h, q[2]);
      for (std::int64_t d = 0; d < of.particles; ++d) {
        w += of.ovvv(i, a, b, x.holes + d) * of.t(k, j, c, x.holes + d);
      }
      for (std::int64_t l = 0; l < of.holes; ++l) w -= of.ovoo(i, a, j, l) * of.t(l, k, b, c);
    }
    return w;
  }

  /// Computes the disconnected triples of sets of one element, S_ijk^abc.
  double adapted_disconnected(const ReferenceTensors& x, std::span<const DisconnectedSet> sets, const Triple& p,
                              const Triple& h) const {
    const Spatial of = spatial(x);
    double s = 0.0;
    for (std::size_t factor = 0; factor < 3; ++factor) {
      const auto [x1, x2] = others(static_cast<int>(factor));
      const auto q1 = static_cast<std::size_t>(x1), q2 = static_cast<std::size_t>(x2);
      const auto pair = static_cast<std::size_t>(p[factor] * x.orbitals + h[factor]);
      for (const DisconnectedSet& set : sets) {
        s += set.weight * x.ov(set.ov)[pair] *
             (set.vvoo == VvooTensor::v2 ? of.ovov(h[q1], p[q1], h[q2], p[q2]) : of.t(h[q1], h[q2], p[q1], p[q2]));
      }
    }
    return s;
  }

  /// Returns the denominator of a quotient. `p`, `h`: the orbitals of `element` as numbers of the tile space.
  double denominator(const Quotient& quotient, const Triple& p, const Triple& h, int beta_particle = -1,
                     int beta_hole = -1) const {
    if (quotient.denominator == Denominator::one) return 1.0;
    if (!quotient.of_tables()) {
      const auto e = [&](std::int64_t orbital) { return eps_[static_cast<std::size_t>(orbital)]; };
      return e(h[0]) + e(h[1]) + e(h[2]) - e(p[0]) - e(p[1]) - e(p[2]) - denominator_shift(quotient.omega2);
    }
    const std::int64_t holes = right_.holes;
    return denominator_of(*problem_.denominators, quotient.denominator,
                          {h, {p[0] - holes, p[1] - holes, p[2] - holes}, beta_hole, beta_particle});
  }

  void element(const Task& task, const Triple& p, const Triple& h, std::span<TaskEnergy> energies) const {
    if (problem_.formulation == SpinFormulation::spin_adapted) return adapted_element(task, p, h, energies);
    // Elements with equal indices are zero by antisymmetry. Their denominators have no meaning.
    if (p[0] == p[1] || p[1] == p[2] || p[0] == p[2] || h[0] == h[1] || h[1] == h[2] || h[0] == h[2]) return;
    std::array<double, max_left_sides> d_left{}, v_left{};
    for (std::size_t n = 0; n < left_sides(); ++n) {
      d_left[n] = spin_orbital_connected(left(n), p, h);
      v_left[n] = d_left[n] + spin_orbital_disconnected(left(n), sets_of(n), p, h);
    }
    const double d_right = problem_.two_sided() ? spin_orbital_connected(right_, p, h) : d_left[0],
                 c3 = spin_orbital_disconnected(disconnected_, sets_of(left_sides()), p, h);
    const bool equal_spins = task.spin_case == SpinCase::aaa || task.spin_case == SpinCase::bbb;
    for (std::size_t n = 0; n < energies.size(); ++n) {
      const Quotient& quotient = problem_.quotients[n];
      const std::size_t side = number_of_left(quotient);
      const double right = right_factor(quotient, d_right, c3, d_left[side]);
      Energies& sum = equal_spins ? energies[n].same : energies[n].mixed;
      sum += task.weight / denominator(quotient, p, h) * Energies{d_left[side] * right, v_left[side] * right};
    }
  }

  /// Returns the right factor of a quotient. `left`: D of its left side.
  template <typename Factor>
  static const Factor& right_factor(const Quotient& quotient, const Factor& connected, const Factor& disconnected,
                                    const Factor& left) {
    switch (quotient.right) {
      case RightFactor::connected:
        return connected;
      case RightFactor::disconnected:
        return disconnected;
      case RightFactor::left:
        break;
    }
    return left;
  }

  /// Numbers of the six orders of three particles, [a][b][c], for holes in their own order. Another order of the holes
  /// only permutes these numbers.
  struct Orders {
    double of[3][3][3];

    /// The number of the particles a, b, c that belong to the holes i, j, k.
    double operator()(const std::array<int, 3>& holes, const std::array<int, 3>& particles) const {
      int particle[3];
      for (std::size_t q = 0; q < 3; ++q) particle[holes[q]] = particles[q];
      return of[particle[0]][particle[1]][particle[2]];
    }
    double antisymmetrised() const {
      double sum = 0.0;
      six([&](int a, int b, int c) { sum += ((b - a + 3) % 3 == 1 ? 1.0 : -1.0) * of[a][b][c]; });
      return sum;
    }
  };
  /// Calls `function` with all orders of 0, 1, 2.
  template <typename Function>
  static void six(Function function) {
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b)
        if (b != a) function(a, b, 3 - a - b);
  }

  void adapted_element(const Task& task, const Triple& p, const Triple& h, std::span<TaskEnergy> energies) const {
    if ((p[0] == p[1] && p[1] == p[2]) || (h[0] == h[1] && h[1] == h[2])) return;
    std::array<Orders, max_left_sides> w_left, v_left;
    Orders w_right, c3;
    six([&](int a, int b, int c) {
      const Triple order{pick(p, a), pick(p, b), pick(p, c)};
      for (std::size_t n = 0; n < left_sides(); ++n) {
        const double w = w_left[n].of[a][b][c] = adapted_connected(left(n), order, h);
        v_left[n].of[a][b][c] = w + adapted_disconnected(left(n), sets_of(n), order, h);
      }
      w_right.of[a][b][c] = problem_.two_sided() ? adapted_connected(right_, order, h) : w_left[0].of[a][b][c];
      c3.of[a][b][c] = adapted_disconnected(disconnected_, sets_of(left_sides()), order, h);
    });
    for (std::size_t n = 0; n < energies.size(); ++n) {
      const Quotient& quotient = problem_.quotients[n];
      const std::size_t side = number_of_left(quotient);
      const Orders& right = right_factor(quotient, w_right, c3, w_left[side]);
      const auto energy = [&](const Orders& left_factor) {
        if (quotient.of_tables()) return of_spin_elements(quotient, p, h, left_factor, right);
        return 1.0 / denominator(quotient, p, h) * of_all_spins(left_factor, right);
      };
      const BySpins bracket_t = energy(w_left[side]), paren_t = energy(v_left[side]);
      energies[n].same += task.weight * Energies{bracket_t.same, paren_t.same};
      energies[n].mixed += task.weight * Energies{bracket_t.mixed, paren_t.mixed};
    }
  }

  /// An energy or a numerator of one element: of three equal spins, and of the other spin cases.
  struct BySpins {
    double same, mixed;
    friend BySpins operator*(double factor, const BySpins& x) { return {factor * x.same, factor * x.mixed}; }
  };

  /// Computes the numerators 1/3 sum (4 W^abc + W^bca + W^cab)(V^abc - V^cba) over all orders of abc and of ijk. `v`:
  /// the left factor. `w`: the right factor.
  static BySpins of_all_spins(const Orders& v, const Orders& w) {
    double all = 0.0;
    six([&](int i, int j, int k) {
      const std::array holes{i, j, k};
      six([&](int a, int b, int c) {
        all += (4.0 * w(holes, {a, b, c}) + w(holes, {b, c, a}) + w(holes, {c, a, b})) / 3.0 *
               (v(holes, {a, b, c}) - v(holes, {c, b, a}));
      });
    });
    // The aaa energy is 1/36 of the sum over all orders of the squared antisymmetrised amplitude. The bbb energy is
    // equal.
    const double same = 2.0 * v.antisymmetrised() * w.antisymmetrised();
    return {same, all - same};
  }

  /// Computes the energy of the spin elements, each with a denominator of its own: aaa and the nine choices of a hole
  /// and a particle with the spin beta. Spin elements with equal orbitals of equal spins are zero by antisymmetry.
  BySpins of_spin_elements(const Quotient& quotient, const Triple& p, const Triple& h, const Orders& v,
                           const Orders& w) const {
    BySpins energy{};
    if (p[0] != p[1] && p[1] != p[2] && p[0] != p[2] && h[0] != h[1] && h[1] != h[2] && h[0] != h[2])
      energy.same = 2.0 * v.antisymmetrised() * w.antisymmetrised() / denominator(quotient, p, h);
    for (int a = 0; a < 3; ++a) {
      for (int i = 0; i < 3; ++i) {
        const auto [b, c] = others(a);
        const auto [j, k] = others(i);
        if (pick(p, b) == pick(p, c) || pick(h, j) == pick(h, k)) continue;
        const std::array holes{i, j, k};
        energy.mixed += 2.0 * (v(holes, {a, b, c}) - v(holes, {a, c, b})) *
                        (w(holes, {a, b, c}) - w(holes, {a, c, b})) / denominator(quotient, p, h, a, i);
      }
    }
    return energy;
  }

  Problem problem_;
  std::vector<DisconnectedSet> sets_;
  TileSpace tiles_;
  std::span<const double> eps_;
  ReferenceTensors right_, disconnected_;
  std::vector<ReferenceTensors> lefts_;  ///< [left side]; empty: that of right_
};

ReferenceEvaluation::ReferenceEvaluation(const Problem& problem, const TileSpace& tiles) {
  problem.require_operands_of_quotients();
  elements_ = std::make_unique<const Elements>(problem, tiles);
}

ReferenceEvaluation::~ReferenceEvaluation() = default;

void ReferenceEvaluation::evaluate(const Task& task, std::span<TaskEnergy> energies) const {
  elements_->evaluate(task, energies);
}

}
