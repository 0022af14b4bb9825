#include "tce_tiles/checks/doubles_of_spins.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/checks/doubles_arrays.hpp"
#include "tce_tiles/checks/small_arrays_check.hpp"
#include "tce_tiles/checks/small_operations.hpp"

namespace trifuse {
namespace {

constexpr std::array spins_of_doubles = {0, 1};

Spin spin_numbered(int s) {
  return s == 0 ? Spin::alpha : Spin::beta;
}

/// h of the equation.
double half_if_same(int s, int t) {
  return s == t ? 0.5 : 1.0;
}

class DoublesEquationOfSpins {
 public:
  DoublesEquationOfSpins(const DenseInput& input, int threads, const std::atomic<bool>* stop);
  DoublesResidual residual();

 private:
  using OfSpin = std::vector<DoublesArray>;   ///< [spin]
  using OfSpins = std::vector<DoublesArray>;  ///< [2 s + t]

  static DoublesArray& of(OfSpins& arrays, int s, int t) { return arrays[at(2 * s + t)]; }
  std::int64_t o(int s) const { return input_.header.size(holes_of(s)); }
  std::int64_t v(int s) const { return input_.header.size(particles_of(s)); }
  ArraySpec spec(ArrayKind kind, int s, int t) const {
    return array_spec(kind, false, spin_numbered(s), spin_numbered(t));
  }
  DoublesArray read(ArrayKind kind, int s, int t) const;
  /// Reads the arrays of all spins. Those of beta, alpha are made of those of alpha, beta, if there is `exchange`: axis
  /// n becomes exchange[n].
  OfSpins read_all(ArrayKind kind, const std::vector<std::size_t>& exchange = {}) const;
  DoublesArray fock(int s, bool particles_first, bool particles_second) const;
  double diagonal(int s, std::int64_t p) const { return fock_[at(s)][at(p * (o(s) + v(s) + 1))]; }
  void add(std::string_view expression, double alpha, DoublesArray& a, DoublesArray& b, DoublesArray& c) const {
    products_.add(expression, alpha, a.all(), b.all(), c.all());
  }
  template <typename Use>
  static void for_spins(const Use& use) {
    for (const int s : spins_of_doubles) {
      for (const int t : spins_of_doubles) use(s, t);
    }
  }

  void add_three_virtuals(int s, int t, DoublesArray& w);
  void add_pairs(int s, int t, OfSpins& ovoo);
  void dress_rings(int s, int t);
  void add_rings(int s, int t);
  void add_fock_matrices();
  void find_largest_step(int s, int t, DoublesResidual& found);

  const DenseInput& input_;
  const DoublesProducts products_;
  std::array<std::vector<double>, 2> fock_;
  OfSpin t1_, f_me_, f_bc_;
  OfSpins t2_, ovov_;
  OfSpins l_;  ///< L[k,c,l,d]
  OfSpins j_;  ///< J[m,e,k,j]
  OfSpins z_;  ///< Z[k,i,b,f], then [ki|bf]
  OfSpins w_;  ///< W[k,c,j,b]
  OfSpins g_;  ///< G[i,j,a,b]
};

/// Returns an array whose axis n is axis axes[n] of `x`.
DoublesArray with_axes_in_order(DoublesArray& x, const std::vector<std::size_t>& axes) {
  const DoublesView from = x.all();
  std::array<std::int64_t, 4> stride{}, of_axis{1, 1, 1, 1};
  for (std::size_t n = 4; n-- > 1;) of_axis[n - 1] = of_axis[n] * from.shape[n];
  std::vector<std::int64_t> shape;
  for (std::size_t n = 0; n < 4; ++n) {
    shape.push_back(from.shape[axes[n]]);
    stride[n] = of_axis[axes[n]];
  }
  DoublesArray result(shape);
  double* to = result.data();
  for (std::int64_t p = 0; p < shape[0]; ++p) {
    for (std::int64_t q = 0; q < shape[1]; ++q) {
      for (std::int64_t r = 0; r < shape[2]; ++r) {
        const double* const row = from.data + p * stride[0] + q * stride[1] + r * stride[2];
        for (std::int64_t s = 0; s < shape[3]; ++s) *to++ = row[s * stride[3]];
      }
    }
  }
  return result;
}

void subtract_array(DoublesArray& x, DoublesArray from) {
  std::ranges::transform(x.values(), from.values(), x.data(), std::minus());
}

DoublesEquationOfSpins::DoublesEquationOfSpins(const DenseInput& input, int threads, const std::atomic<bool>* stop)
    : input_(input), products_{threads, stop} {
  for (const int s : spins_of_doubles) {
    fock_[at(s)] = read_checked_fock(*input.arrays, input.header, spin_numbered(s));
    t1_.push_back(read(ArrayKind::t1, s, s));
    f_me_.push_back(fock(s, false, true));
    f_bc_.push_back(fock(s, true, true));
    for (std::int64_t b = 0; b < v(s); ++b) f_bc_.back().data()[b * (v(s) + 1)] += input.header.info.omega2;
  }
  t2_ = read_all(ArrayKind::t2, {1, 0, 3, 2});
  ovov_ = read_all(ArrayKind::ovov, {2, 3, 0, 1});
  j_ = read_all(ArrayKind::ovoo);
  z_ = read_all(ArrayKind::oovv);
  l_ = OfSpins(ovov_);
  w_ = OfSpins(ovov_);
  for_spins([&](int s, int t) {
    g_.emplace_back(std::vector{o(s), o(t), v(s), v(t)});
    if (s == t) subtract_array(of(l_, s, s), with_axes_in_order(of(ovov_, s, s), {0, 3, 2, 1}));
    add("mekf,jf->mekj", 1.0, of(ovov_, s, t), t1_[at(t)], of(j_, s, t));
    add("menf,nf->me", 1.0, of(l_, s, t), t1_[at(t)], f_me_[at(s)]);
  });
}

DoublesArray DoublesEquationOfSpins::read(ArrayKind kind, int s, int t) const {
  const ArraySpec of_kind = spec(kind, s, t);
  DoublesArray values(input_.header.shape(of_kind));
  if (input_.header.size(of_kind) == 0) return values;
  stop_reading(products_.stop);
  open_array(*input_.arrays, input_.header, of_kind)->read_all(values.values());
  return values;
}

DoublesEquationOfSpins::OfSpins DoublesEquationOfSpins::read_all(ArrayKind kind,
                                                                 const std::vector<std::size_t>& exchange) const {
  OfSpins arrays;
  for_spins([&](int s, int t) {
    arrays.push_back(exchange.empty() || s <= t ? read(kind, s, t) : with_axes_in_order(of(arrays, t, s), exchange));
  });
  return arrays;
}

DoublesArray DoublesEquationOfSpins::fock(int s, bool particles_first, bool particles_second) const {
  const std::int64_t rows = particles_first ? v(s) : o(s), columns = particles_second ? v(s) : o(s);
  const std::int64_t p = particles_first ? o(s) : 0, q = particles_second ? o(s) : 0;
  DoublesArray part({rows, columns});
  for (std::int64_t n = 0; n < rows; ++n)
    std::copy_n(fock_[at(s)].data() + (p + n) * (o(s) + v(s)) + q, columns, part.data() + n * columns);
  return part;
}

/// Adds the terms of ovvv and kvvv of these spins. `w`: [m,i,j,b], which is multiplied with t_m^a.
void DoublesEquationOfSpins::add_three_virtuals(int s, int t, DoublesArray& w) {
  const ArraySpec of_ovvv = spec(ArrayKind::ovvv, s, t), of_kvvv = spec(ArrayKind::kvvv, s, t);
  if (input_.header.size(of_ovvv) == 0) return;
  const auto ovvv = open_array(*input_.arrays, input_.header, of_ovvv);
  const auto kvvv = open_array(*input_.arrays, input_.header, of_kvvv);
  const std::int64_t row = v(s) * v(t) * v(t), step = std::clamp<std::int64_t>(three_virtuals_at_a_time / row, 1, o(s));
  DoublesArray block({step, v(s), v(t), v(t)});
  DoublesArray &t1_s = t1_[at(s)], &t1_t = t1_[at(t)];
  for (std::int64_t k = 0; k < o(s); k += step) {
    const std::int64_t count = std::min(step, o(s) - k);
    const std::array<std::int64_t, 4> offset = {k, 0, 0, 0}, extent = {count, v(s), v(t), v(t)};
    const DoublesView rows = block.rows(0, count);
    const std::span<double> values = block.values().first(at(count * row));
    stop_reading(products_.stop);
    ovvv->read(offset, extent, values);
    products_.add("iabf,jf->ijab", 1.0, rows, t1_t.all(), of(g_, s, t).rows(k, count));
    products_.add("kebf,ie->kibf", 1.0, rows, t1_s.all(), of(z_, s, t).rows(k, count));
    products_.add("kcbf,jf->kcjb", 1.0, rows, t1_t.all(), of(w_, s, t).rows(k, count));
    products_.add("mcbd,ijcd->mijb", -half_if_same(s, t), rows, of(t2_, s, t).all(), w.rows(k, count));
    products_.add("nebc,ne->bc", 1.0, rows, t1_s.rows(k, count), f_bc_[at(t)].all());
    if (s == t) products_.add("ncbe,ne->bc", -1.0, rows, t1_s.rows(k, count), f_bc_[at(t)].all());
    stop_reading(products_.stop);
    kvvv->read(offset, extent, values);
    products_.add("iabf,jf->ijab", 0.5, rows, t1_t.all(), of(g_, s, t).rows(k, count));
  }
}

/// Adds the terms that are multiplied with t_m^a, t_k^a t_l^b or t_kl^ab. `ovoo`: bare.
void DoublesEquationOfSpins::add_pairs(int s, int t, OfSpins& ovoo) {
  DoublesArray &t1_s = t1_[at(s)], &t1_t = t1_[at(t)], &g = of(g_, s, t);
  DoublesArray w({o(s), o(s), o(t), v(t)});
  add_three_virtuals(s, t, w);
  DoublesArray x = of(j_, t, s);
  add("mibf,jf->jbmi", 1.0, of(z_, s, t), t1_t, x);
  add("jbmi,ma->ijab", -1.0, x, t1_s, g);
  DoublesArray p = s <= t ? read(ArrayKind::oooo, s, t) : [&] {
    DoublesArray exchanged = read(ArrayKind::oooo, t, s);
    return with_axes_in_order(exchanged, {2, 3, 0, 1});
  }();
  add("kelj,ie->kilj", 1.0, of(ovoo, s, t), t1_s, p);
  add("lfki,jf->kilj", 1.0, of(j_, t, s), t1_t, p);
  add("kcld,ijcd->kilj", half_if_same(s, t), of(ovov_, s, t), of(t2_, s, t), p);
  add("minj,nb->mijb", 0.5, p, t1_t, w);
  add("mijb,ma->ijab", 1.0, w, t1_s, g);
  add("kilj,klab->ijab", 0.5 * half_if_same(s, t), p, of(t2_, s, t), g);
}

void DoublesEquationOfSpins::dress_rings(int s, int t) {
  add("nckj,nb->kjbc", -1.0, of(j_, t, s), t1_[at(t)], of(z_, s, t));
  add("kcnj,nb->kcjb", -1.0, of(j_, s, t), t1_[at(t)], of(w_, s, t));
  if (s == t) subtract_array(of(w_, s, s), with_axes_in_order(of(z_, s, s), {0, 3, 1, 2}));
  for (const int q : spins_of_doubles) add("kcld,jlbd->kcjb", 0.5, of(l_, s, q), of(t2_, t, q), of(w_, s, t));
}

void DoublesEquationOfSpins::add_rings(int s, int t) {
  for (const int r : spins_of_doubles) add("ikac,kcjb->ijab", 1.0, of(t2_, s, r), of(w_, r, t), of(g_, s, t));
  if (s == t) return;
  DoublesArray mixed = of(z_, t, s);
  add("kdlc,ljad->kjac", -0.5, of(ovov_, t, s), of(t2_, s, t), mixed);
  add("ikcb,kjac->ijab", -1.0, of(t2_, s, t), mixed, of(g_, s, t));
}

void DoublesEquationOfSpins::add_fock_matrices() {
  OfSpin f_kj;
  for (const int s : spins_of_doubles) {
    f_kj.push_back(fock(s, false, false));
    DoublesArray f_ov = fock(s, false, true);
    add("ke,je->kj", 1.0, f_ov, t1_[at(s)], f_kj.back());
    add("kemj,me->kj", -1.0, of(j_, s, s), t1_[at(s)], f_kj.back());
    add("mb,mc->bc", -1.0, t1_[at(s)], f_me_[at(s)], f_bc_[at(s)]);
    for (const int q : spins_of_doubles) {
      add("mekj,me->kj", 1.0, of(j_, q, s), t1_[at(q)], f_kj.back());
      add("kcld,jlcd->kj", 1.0, of(ovov_, s, q), of(t2_, s, q), f_kj.back());
      add("klbd,kcld->bc", -1.0, of(t2_, s, q), of(ovov_, s, q), f_bc_[at(s)]);
    }
  }
  for_spins([&](int s, int t) {
    add("ijac,bc->ijab", half_if_same(s, t), of(t2_, s, t), f_bc_[at(t)], of(g_, s, t));
    add("ikab,kj->ijab", -half_if_same(s, t), of(t2_, s, t), f_kj[at(t)], of(g_, s, t));
  });
}

DoublesResidual DoublesEquationOfSpins::residual() {
  OfSpins ovoo = read_all(ArrayKind::ovoo);
  for_spins([&](int s, int t) { add_pairs(s, t, ovoo); });
  for_spins([&](int s, int t) { dress_rings(s, t); });
  for_spins([&](int s, int t) { add_rings(s, t); });
  add_fock_matrices();
  DoublesResidual found;
  for (const auto& [s, t] : {std::pair(0, 0), {0, 1}, {1, 1}}) find_largest_step(s, t, found);
  return found;
}

void DoublesEquationOfSpins::find_largest_step(int s, int t, DoublesResidual& found) {
  DoublesArray residual = read(ArrayKind::ladder, s, t), of_pairs = with_axes_in_order(of(ovov_, s, t), {0, 2, 1, 3});
  DoublesArray exchanged = with_axes_in_order(of(g_, t, s), {1, 0, 3, 2});
  std::ranges::transform(of_pairs.values(), exchanged.values(), of_pairs.data(), std::plus());
  std::ranges::transform(of_pairs.values(), of(g_, s, t).values(), of_pairs.data(), std::plus());
  std::ranges::transform(residual.values(), of_pairs.values(), residual.data(), std::plus());
  if (s == t) subtract_array(residual, with_axes_in_order(of_pairs, {0, 1, 3, 2}));
  const double shift = 2.0 * input_.header.info.omega2;
  const double* r = residual.data();
  for (std::int64_t i = 0; i < o(s); ++i) {
    for (std::int64_t j = 0; j < o(t); ++j) {
      for (std::int64_t a = 0; a < v(s); ++a) {
        for (std::int64_t b = 0; b < v(t); ++b, ++r) {
          if (s == t && (i == j || a == b)) continue;
          const double change = diagonal(s, i) + diagonal(t, j) - diagonal(s, o(s) + a) - diagonal(t, o(t) + b) - shift;
          const double step = std::abs(*r / change);
          // This comparison is also true if the step is not a number.
          if (!(step <= found.step)) found = {step, i, j, a, b, 1 + s + t};
        }
      }
    }
  }
}

}

DoublesResidual doubles_residual_of_spins(const DenseInput& input, int threads, const std::atomic<bool>* stop) {
  return DoublesEquationOfSpins(input, threads, stop).residual();
}

}
