#include "cxx/triples/reference_derivatives.hpp"

#include <algorithm>
#include <stdexcept>

#include "cxx/triples/energy.hpp"
#include "cxx/triples/reference_elements.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

namespace {

void set_to_zero(ReferenceTensors& x) {
  for (std::vector<double>* each : {&x.t1, &x.fock}) std::fill(each->begin(), each->end(), 0.0);
  for (Dense4* each : {&x.t2, &x.vvoo, &x.ovoo, &x.vvov}) each->set_to_zero();
}

/// Returns a function that adds products of numbers of `x` to `sum`.
auto sum_products(double& sum, const ReferenceTensors& x) {
  return [&](double coefficient, const auto& first, const auto& second) {
    sum += coefficient * first.of(x) * second.of(x);
  };
}

/// Returns a function that adds the derivatives of such a sum. `seed`: derivative of E(T) by the sum.
auto add_derivatives(double seed, const ReferenceTensors& x, ReferenceTensors& derivatives) {
  return [&, seed](double coefficient, const auto& first, const auto& second) {
    first.of(derivatives) += seed * coefficient * second.of(x);
    second.of(derivatives) += seed * coefficient * first.of(x);
  };
}

}

ReferenceDerivatives::ReferenceDerivatives(const Problem& problem, const TileSpace& tiles)
    : problem_(problem),
      sets_(problem.sets()),
      tiles_(tiles),
      of_energies_(static_cast<std::size_t>(tiles.orbitals())) {
  if (problem.quotients.size() != 1 || !problem.has_shifts_only() || problem.second_left)
    throw std::logic_error("Reference derivatives are for one quotient, a shift, and one left side.");
  const auto read = [&](Side side) {
    Operands operands{expand(problem.operands(side), problem.needs_fock()), {}};
    operands.derivatives = operands.numbers;
    set_to_zero(operands.derivatives);
    return operands;
  };
  right_ = read(Side::right);
  if (problem.two_sided()) left_ = read(Side::left);
}

double ReferenceDerivatives::of_block(const TileSource& source, TensorKind tensor, const std::array<int, 4>& tiles,
                                      const std::array<std::int64_t, 4>& orbitals) const {
  using R = ReferenceTensors;
  const auto is_hole = [&](std::size_t n) { return orbitals[n] < right_.numbers.holes; };
  const bool t2 = tensor == TensorKind::t2, vvov = !is_hole(0) && !is_hole(3);
  Dense4 R::*const member = t2 ? &R::t2 : is_hole(0) ? &R::ovoo : vvov ? &R::vvov : &R::vvoo;
  // Both sides have the same integrals.
  const bool of_left = problem_.two_sided() && (!t2 || &source == problem_.left),
             of_right = !t2 || &source == problem_.right;
  const auto value = [&](std::int64_t u1, std::int64_t u2, std::int64_t l1, std::int64_t l2) {
    return (of_left ? (left_.derivatives.*member)(u1, u2, l1, l2) : 0.0) +
           (of_right ? (right_.derivatives.*member)(u1, u2, l1, l2) : 0.0);
  };
  const bool images = problem_.formulation == SpinFormulation::spin_orbital;
  const bool bra = images && !is_hole(0) && tiles[0] != tiles[1], ket = images && !vvov && tiles[2] != tiles[3];
  const auto [u1, u2, l1, l2] = orbitals;
  double sum = value(u1, u2, l1, l2);
  if (bra) sum -= value(u2, u1, l1, l2);
  if (ket) sum -= value(u1, u2, l2, l1);
  if (bra && ket) sum += value(u2, u1, l2, l1);
  return sum;
}

double ReferenceDerivatives::inverse(const OrbitalTriple& p, const OrbitalTriple& h) const {
  const std::span<const double> eps = problem_.right->orbital_energies();
  double x = -denominator_shift(problem_.quotients.front().omega2);
  for (const std::int64_t hole : h) x += eps[static_cast<std::size_t>(hole)];
  for (const std::int64_t particle : p) x -= eps[static_cast<std::size_t>(particle)];
  return 1.0 / x;
}

void ReferenceDerivatives::add_denominator(const OrbitalTriple& p, const OrbitalTriple& h, double energy) {
  const double of_x = -energy * inverse(p, h);
  for (const std::int64_t hole : h) of_energies_[static_cast<std::size_t>(hole)] += of_x;
  for (const std::int64_t particle : p) of_energies_[static_cast<std::size_t>(particle)] -= of_x;
  of_omega2_ -= denominator_shift(of_x);
}

// E = f (D_left + S_left) D_right with f = weight / x.
void ReferenceDerivatives::add_spin_orbital(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h) {
  Operands& l = left();
  double v_left = 0.0, d_right = 0.0;
  spin_orbital_products(l.numbers, p, h, sum_products(v_left, l.numbers));
  spin_orbital_products(l.numbers, sets_, p, h, sum_products(v_left, l.numbers));
  spin_orbital_products(right_.numbers, p, h, sum_products(d_right, right_.numbers));
  const double f = task.weight * inverse(p, h);
  spin_orbital_products(l.numbers, p, h, add_derivatives(f * d_right, l.numbers, l.derivatives));
  spin_orbital_products(l.numbers, sets_, p, h, add_derivatives(f * d_right, l.numbers, l.derivatives));
  spin_orbital_products(right_.numbers, p, h, add_derivatives(f * v_left, right_.numbers, right_.derivatives));
  add_denominator(p, h, f * v_left * d_right);
}

// E = f N(W_left + S_left, W_right) with a bilinear numerator N, so its derivative by an order of the particles is N of
// the unit vector of this order.
void ReferenceDerivatives::add_adapted(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h) {
  Operands& l = left();
  const Spatial of{right_.numbers.holes, tiles_.orbitals(OrbitalClass::hole_alpha),
                   tiles_.orbitals(OrbitalClass::particle_alpha)};
  const auto in_order = [&](int a, int b, int c) { return OrbitalTriple{pick(p, a), pick(p, b), pick(p, c)}; };
  Orders v_left, w_right;
  six_orders([&](int a, int b, int c) {
    const OrbitalTriple order = in_order(a, b, c);
    double &v = v_left.of[a][b][c], &w = w_right.of[a][b][c];
    adapted_products(of, order, h, sum_products(v, l.numbers));
    adapted_products(l.numbers, of, sets_, order, h, sum_products(v, l.numbers));
    adapted_products(of, order, h, sum_products(w, right_.numbers));
  });
  const double f = task.weight * inverse(p, h);
  six_orders([&](int a, int b, int c) {
    const OrbitalTriple order = in_order(a, b, c);
    Orders unit;
    unit.of[a][b][c] = 1.0;
    const double left_seed = f * numerator_of_all_spins(unit, w_right),
                 right_seed = f * numerator_of_all_spins(v_left, unit);
    adapted_products(of, order, h, add_derivatives(left_seed, l.numbers, l.derivatives));
    adapted_products(l.numbers, of, sets_, order, h, add_derivatives(left_seed, l.numbers, l.derivatives));
    adapted_products(of, order, h, add_derivatives(right_seed, right_.numbers, right_.derivatives));
  });
  add_denominator(p, h, f * numerator_of_all_spins(v_left, w_right));
}

void ReferenceDerivatives::add(const Task& task) {
  for_each_element(tiles_, task, [&](const OrbitalTriple& p, const OrbitalTriple& h) {
    if (is_left_out(problem_.formulation, p, h)) return;
    if (problem_.formulation == SpinFormulation::spin_adapted) {
      add_adapted(task, p, h);
    } else {
      add_spin_orbital(task, p, h);
    }
  });
}

}
