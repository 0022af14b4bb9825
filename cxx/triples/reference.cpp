#include "cxx/triples/reference.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "cxx/triples/energy.hpp"
#include "cxx/triples/reference_elements.hpp"
#include "cxx/triples/reference_tensors.hpp"
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
    for_each_element(tiles_, task, [&](const OrbitalTriple& p, const OrbitalTriple& h) {
      if (!is_left_out(problem_.formulation, p, h)) element(task, p, h, energies);
    });
  }

 private:
  const ReferenceTensors& left(std::size_t n) const { return problem_.two_sided() ? lefts_[n] : right_; }
  /// The sets of left side number n. After those of the last left side there is the set of C3, or none.
  std::span<const DisconnectedSet> sets_of(std::size_t n) const {
    const int side = static_cast<int>(n), begin = side == 0 ? 0 : problem_.sets_end(side - 1),
              end = side < problem_.left_sides() ? problem_.sets_end(side) : problem_.disconnected_sets();
    return std::span(sets_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }
  std::size_t left_sides() const { return static_cast<std::size_t>(problem_.left_sides()); }
  static std::size_t number_of_left(const Quotient& quotient) { return quotient.left == Side::left ? 0 : 1; }

  /// Returns a function that adds products of numbers of `x` to `sum`.
  static auto add_to(double& sum, const ReferenceTensors& x) {
    return [&](double coefficient, const auto& first, const auto& second) {
      sum += coefficient * first.of(x) * second.of(x);
    };
  }
  /// D of one element in the spin-orbital formulation, and its disconnected triples of sets.
  static double spin_orbital_connected(const ReferenceTensors& x, const OrbitalTriple& p, const OrbitalTriple& h) {
    double d = 0.0;
    spin_orbital_products(x, p, h, add_to(d, x));
    return d;
  }
  static double spin_orbital_disconnected(const ReferenceTensors& x, std::span<const DisconnectedSet> sets,
                                          const OrbitalTriple& p, const OrbitalTriple& h) {
    double s = 0.0;
    spin_orbital_products(x, sets, p, h, add_to(s, x));
    return s;
  }

  Spatial spatial() const {
    return {right_.holes, tiles_.orbitals(OrbitalClass::hole_alpha), tiles_.orbitals(OrbitalClass::particle_alpha)};
  }
  /// W_ijk^abc of one element, `p` = {a, b, c}, `h` = {i, j, k}, and its disconnected triples of sets.
  double adapted_connected(const ReferenceTensors& x, const OrbitalTriple& p, const OrbitalTriple& h) const {
    double w = 0.0;
    adapted_products(spatial(), p, h, add_to(w, x));
    return w;
  }
  double adapted_disconnected(const ReferenceTensors& x, std::span<const DisconnectedSet> sets, const OrbitalTriple& p,
                              const OrbitalTriple& h) const {
    double s = 0.0;
    adapted_products(x, spatial(), sets, p, h, add_to(s, x));
    return s;
  }

  /// Returns the denominator of a quotient. `p`, `h`: the orbitals of `element` as numbers of the tile space.
  double denominator(const Quotient& quotient, const OrbitalTriple& p, const OrbitalTriple& h, int beta_particle = -1,
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

  void element(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h, std::span<TaskEnergy> energies) const {
    if (problem_.formulation == SpinFormulation::spin_adapted) return adapted_element(task, p, h, energies);
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

  void adapted_element(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h,
                       std::span<TaskEnergy> energies) const {
    std::array<Orders, max_left_sides> w_left, v_left;
    Orders w_right, c3;
    six_orders([&](int a, int b, int c) {
      const OrbitalTriple order{pick(p, a), pick(p, b), pick(p, c)};
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

  /// Computes the numerators of all spins. `v`: the left factor. `w`: the right factor.
  static BySpins of_all_spins(const Orders& v, const Orders& w) {
    const double all = numerator_of_all_spins(v, w);
    // The aaa energy is 1/36 of the sum over all orders of the squared antisymmetrised amplitude. The bbb energy is
    // equal.
    const double same = 2.0 * v.antisymmetrised() * w.antisymmetrised();
    return {same, all - same};
  }

  /// Computes the energy of the spin elements, each with a denominator of its own: aaa and the nine choices of a hole
  /// and a particle with the spin beta. Spin elements with equal orbitals of equal spins are zero by antisymmetry.
  BySpins of_spin_elements(const Quotient& quotient, const OrbitalTriple& p, const OrbitalTriple& h, const Orders& v,
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
