#include "tce_tiles/checks/singles_equation.hpp"

#include <algorithm>
#include <cmath>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/checks/sum_spins.hpp"

namespace trifuse {
namespace {

std::int64_t signed_of(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

/// Number of occupied orbitals i per step. It is small, so that scratch memory is a small part of a slab.
constexpr std::size_t orbitals_at_a_time = 8;

/// Approximate number of amplitudes that one thread reads at a time.
constexpr std::size_t amplitudes_at_a_time = std::size_t{1} << 16;

}

SinglesEquation::SinglesEquation(SinglesProblem problem, const SinglesSlabs& slabs, std::size_t max_cached_slabs)
    : problem_(std::move(problem)), slabs_(slabs), amplitudes_(0, std::max<std::size_t>(1, max_cached_slabs)) {
  for (int s = 0; s < spins(); ++s) {
    for (auto* sums : {&coulomb_same_, &coulomb_opposite_, &coupling_, &residual_}) {
      (*sums)[at(s)].assign(o(s) * v(s), 0.0);
    }
  }
}

void SinglesEquation::add_ovov(const ArraySpec& spec, const ArrayBox& box) {
  const bool restricted = problem_.restricted;
  const bool same = restricted || spec.first == spec.second;
  const auto u = restricted ? 0 : spin_index(spec.first), s = restricted ? 0 : spin_index(spec.second);
  const std::size_t vu = v(static_cast<int>(u)), vs = v(static_cast<int>(s));
  const double* const tu = t1(static_cast<int>(u));
  const double* const ts = t1(static_cast<int>(s));
  // direct[m,e] = sum_nf t_nf (nf|me). For opposite spins other[n,f] = sum_me t_me (nf|me), for equal spins
  // other[n,e] = sum_mf t_mf (nf|me).
  std::vector<double> direct(o(static_cast<int>(s)) * vs, 0.0), other(o(static_cast<int>(u)) * vu, 0.0);
  const double* row = box.values.data();
  for (std::int64_t x = 0; x < box.count[0]; ++x) {
    for (std::int64_t y = 0; y < box.count[1]; ++y) {
      const std::size_t n = at(box.offset[0] + x), f = at(box.offset[1] + y);
      for (std::int64_t z = 0; z < box.count[2]; ++z, row += box.count[3]) {
        const std::size_t m = at(box.offset[2] + z);
        const double t_nf = tu[n * vu + f];
        double* const to = direct.data() + m * vs + at(box.offset[3]);
        for (std::int64_t e = 0; e < box.count[3]; ++e) to[e] += t_nf * row[e];
        if (!same) {
          const double* const t_m = ts + m * vs + at(box.offset[3]);
          double sum = 0.0;
          for (std::int64_t e = 0; e < box.count[3]; ++e) sum += t_m[e] * row[e];
          other[n * vu + f] += sum;
        } else if (!spec.antisymmetrised) {
          const double t_mf = tu[m * vu + f];
          double* const exchanged = other.data() + n * vu + at(box.offset[3]);
          for (std::int64_t e = 0; e < box.count[3]; ++e) exchanged[e] += t_mf * row[e];
        }
      }
    }
  }
  const std::lock_guard lock(mutex_);
  if (!same) {
    add_scaled(1.0, direct.data(), coulomb_opposite_[s]);
    add_scaled(1.0, direct.data(), coupling_[s]);
    add_scaled(1.0, other.data(), coulomb_opposite_[u]);
    add_scaled(1.0, other.data(), coupling_[u]);
    return;
  }
  const double spins_summed = restricted ? 2.0 : 1.0;
  for (std::size_t k = 0; k < direct.size(); ++k) {
    coupling_[s][k] += spins_summed * direct[k] - other[k];
    if (!spec.antisymmetrised) coulomb_same_[s][k] += spins_summed * direct[k];
  }
}

std::vector<double> SinglesEquation::first_sums() const {
  std::vector<double> sums;
  for (const auto* each : {&coulomb_same_, &coulomb_opposite_, &coupling_}) {
    for (const std::vector<double>& of_spin : *each) sums.insert(sums.end(), of_spin.begin(), of_spin.end());
  }
  return sums;
}

void SinglesEquation::set_first_sums(std::span<const double> sums) {
  auto from = sums.begin();
  for (auto* each : {&coulomb_same_, &coulomb_opposite_, &coupling_}) {
    for (std::vector<double>& of_spin : *each) {
      std::copy_n(from, of_spin.size(), of_spin.begin());
      from += signed_of(of_spin.size());
    }
  }
}

std::pair<double, double> SinglesEquation::singles_weights(int u, int s) const {
  if (problem_.restricted) return {2.0, -1.0};
  return {1.0, u == s ? -1.0 : 0.0};
}

void SinglesEquation::make_tau(int u, int s, std::int64_t n, std::size_t first, std::span<double> out) const {
  const std::size_t vs = v(s), vu = v(u), page = vu * vs, count = out.size() / page;
  slabs_.read_t2(u, s, n, signed_of(first), signed_of(count), out);
  const double* const t_n = t1(u) + at(n) * vu;
  const auto [direct, exchanged] = singles_weights(u, s);
  if (problem_.restricted) sum_spins(signed_of(count), signed_of(vs), out.data());
  for (std::size_t k = 0; k < count; ++k) {
    double* const t = out.data() + k * page;
    const double* const t_i = t1(s) + (first + k) * vs;
    for (std::size_t f = 0; f < vu; ++f) {
      const double t_nf = direct * t_n[f];
      for (std::size_t e = 0; e < vs; ++e) t[f * vs + e] += t_nf * t_i[e];
      if (exchanged == 0.0) continue;
      const double t_if = exchanged * t_i[f];
      for (std::size_t e = 0; e < vs; ++e) t[f * vs + e] += t_n[e] * t_if;
    }
  }
}

BufferCache::Use SinglesEquation::tau(int u, int s, std::int64_t n) {
  const std::size_t page = v(u) * v(s), slab = o(s) * page;
  const std::size_t rows = std::max<std::size_t>(1, amplitudes_at_a_time / page);
  return amplitudes_.get_together((n * 2 + u) * 2 + s, signed_of(slab), (o(s) + rows - 1) / rows,
                                  [&](std::size_t part, std::span<double> values) {
                                    const std::size_t first = part * rows, count = std::min(rows, o(s) - first);
                                    make_tau(u, s, n, first, values.subspan(first * page, count * page));
                                  });
}

void SinglesEquation::add_to_residual(int s, const std::vector<double>& part) {
  const std::lock_guard lock(mutex_);
  add_scaled(1.0, part.data(), residual_[at(s)]);
}

bool SinglesEquation::complete(int s) const {
  const std::vector<double>& values = problem_.t1[at(s)];
  return has_exchange(s) || std::all_of(values.begin(), values.end(), [](double t) { return t == 0.0; });
}

double SinglesEquation::fock(int s, std::size_t p, std::size_t q) const {
  return problem_.fock[at(s)][p * (o(s) + v(s)) + q];
}

void SinglesEquation::add_exchange(int s, std::int64_t orbital, Buffer& memory, std::vector<double>& part) {
  const std::size_t os = o(s), vs = v(s);
  if (factors_) return factors_->add_exchange(s, orbital, t1(s));
  const std::span<double> oovv = memory.span().first(os * vs * vs);
  slabs_.read_oovv(s, orbital, oovv);
  multiply_add(false, false, signed_of(os * vs), 1, signed_of(vs), -1.0, oovv.data(), t1(s) + at(orbital) * vs,
               part.data());
}

void SinglesEquation::add_orbital(int u, int s, std::int64_t orbital) {
  const std::size_t n = at(orbital), os = o(s), vs = v(s), vu = v(u), page = vu * vs;
  if (os * page == 0) return;
  const std::size_t spin = at(s);
  const bool same = u == s;
  const auto half = [&](const std::array<bool, 2>& of_spin) { return same && of_spin[spin] ? 0.5 : 1.0; };
  const std::int64_t o_s = signed_of(os), v_s = signed_of(vs), v_u = signed_of(vu), p = signed_of(page);
  const BufferCache::Use slab = tau(u, s, orbital);
  if (factors_) factors_->add(u, s, orbital, slab.data());
  Buffer memory;
  memory.reserve(std::max(vu * os * std::max(os, vs), factors_ ? 0 : os * vs * vs));
  std::vector<double> part(os * vs, 0.0);

  // - sum_fm tau_nm^fa (nf|mi)
  const std::span<double> ovoo = memory.span().first(vu * os * os);
  slabs_.read_ovoo(u, s, orbital, ovoo);
  for (std::size_t f = 0; f < vu; ++f) {
    multiply_add(true, false, o_s, v_s, o_s, -half(problem_.asym_ovoo), ovoo.data() + f * os * os, o_s,
                 slab.data() + f * vs, p, part.data(), v_s);
  }

  // - sum_f t_nf (ni|af)
  if (same && has_exchange(s)) add_exchange(s, orbital, memory, part);

  const std::span<double> ovov = memory.span().first(vu * os * vs);  // [f,m,e]
  slabs_.read_ovov(u, s, orbital, ovov);
  // This is no structured binding, because Clang 16 cannot capture one in an OpenMP loop.
  const auto weights = singles_weights(u, s);
  const double direct = weights.first, exchanged = weights.second;
  const double* const t_n = t1(u) + n * vu;
  std::vector<double> coupling_n(vu);
  for (std::size_t f = 0; f < vu; ++f) {
    coupling_n[f] = coupling_[at(u)][n * vu + f] + fock(u, n, o(u) + f);
  }
  std::vector<double> f_mi(os * os, 0.0), with_t1(os * vu);  // [i,m], [i,f]
  Buffer scratch;
  scratch.reserve(orbitals_at_a_time * page);
  for (std::size_t first = 0; first < os; first += orbitals_at_a_time) {
    const std::size_t count = std::min(orbitals_at_a_time, os - first);
    std::copy_n(slab.data() + first * page, count * page, scratch.data());
    // Subtracts `share` times the products of t1 from tau.
    const auto without_singles = [&](double share) {
      for (std::size_t k = 0; k < count; ++k) {
        const double* const t_i = t1(s) + (first + k) * vs;
        for (std::size_t f = 0; f < vu; ++f) {
          double* const row = scratch.data() + k * page + f * vs;
          const double t_nf = share * direct * t_n[f];
          for (std::size_t e = 0; e < vs; ++e) row[e] -= t_nf * t_i[e];
          if (exchanged == 0.0) continue;
          const double t_if = share * exchanged * t_i[f];
          for (std::size_t e = 0; e < vs; ++e) row[e] -= t_n[e] * t_if;
        }
      }
    };
    without_singles(0.5);
    for (std::size_t k = 0; k < count; ++k) {
      // sum_e t_ie (nf|me) comes first: it takes 4 o^2 v^2 operations instead of 2 o v^3.
      std::fill(with_t1.begin(), with_t1.end(), 0.0);
      multiply_add(false, true, o_s, v_u, v_s, 1.0, t1(s), v_s, ovov.data() + (first + k) * vs, o_s * v_s,
                   with_t1.data(), v_u);
      multiply_add(false, false, o_s, v_s, v_u, -half(problem_.asym_ovov), with_t1.data(), scratch.data() + k * page,
                   part.data());
    }
    for (std::size_t f = 0; f < vu; ++f) {
      multiply_add(false, true, signed_of(count), o_s, v_s, half(problem_.asym_ovov), scratch.data() + f * vs, p,
                   ovov.data() + f * os * vs, v_s, f_mi.data() + first * os, o_s);
    }
    without_singles(0.5);
    for (std::size_t k = 0; k < count; ++k) {
      multiply_add(false, false, 1, v_s, v_u, 1.0, coupling_n.data(), scratch.data() + k * page,
                   part.data() + (first + k) * vs);
    }
  }
  multiply_add(false, false, o_s, v_s, o_s, -1.0, f_mi.data(), t1(s), part.data());
  add_to_residual(s, part);
}

void SinglesEquation::add_ovvv(const ArraySpec& spec, const ArrayBox& box) {
  const int u = problem_.restricted ? 0 : static_cast<int>(spin_index(spec.first));
  const int s = problem_.restricted ? 0 : static_cast<int>(spin_index(spec.second));
  const std::size_t os = o(s), vs = v(s), page = v(u) * vs;
  if (os * page == 0) return;
  const double weight = spec.antisymmetrised ? 0.5 : 1.0;
  std::vector<double> part(os * vs, 0.0);
  const bool whole_rows = box.count[2] == signed_of(vs);
  for (std::int64_t x = 0; x < box.count[0]; ++x) {
    const BufferCache::Use amplitudes = tau(u, s, box.offset[0] + x);
    const double* const integrals = box.values.data() + x * box.stride[0];
    // If the box holds all e, the rows of several f are contiguous in both arrays.
    const std::int64_t runs = whole_rows ? 1 : box.count[1];
    const std::int64_t length = box.count[2] * (whole_rows ? box.count[1] : 1);
    for (std::int64_t y = 0; y < runs; ++y) {
      const double* const from = amplitudes.data() + at(box.offset[1] + y) * vs + at(box.offset[2]);
      multiply_add(false, false, signed_of(os), box.count[3], length, weight, from, signed_of(page),
                   integrals + y * box.stride[1], box.count[3], part.data() + at(box.offset[3]), signed_of(vs));
    }
  }
  add_to_residual(s, part);
}

std::vector<FactorUse> SinglesEquation::factor_uses() {
  std::vector<FactorUse> uses;
  for (int u = 0; factors_ && u < spins(); ++u) {
    uses.push_back(
        {particles_of(u), factors_->functions(u), [this, u](const FactorBand& band) { factors_->add_band(u, band); }});
  }
  return uses;
}

void SinglesEquation::add_factors() {
  for (int u = 0; factors_ && u < spins(); ++u) add_to_residual(u, factors_->take_residual(u));
}

std::vector<double> SinglesEquation::second_sums() const {
  std::vector<double> sums = residual_[0];
  sums.insert(sums.end(), residual_[1].begin(), residual_[1].end());
  return sums;
}

void SinglesEquation::set_second_sums(std::span<const double> sums) {
  std::copy_n(sums.begin(), residual_[0].size(), residual_[0].begin());
  std::copy_n(sums.begin() + signed_of(residual_[0].size()), residual_[1].size(), residual_[1].begin());
}

std::vector<double> SinglesEquation::whole_residual(int s) const {
  const std::size_t os = o(s), vs = v(s), k = at(s);
  std::vector<double> r = residual_[k];
  add_scaled(1.0, coulomb_opposite_[k].data(), r);
  // Antisymmetrised oovv contains this term already.
  if (!has_exchange(s) || !problem_.asym_oovv[k]) add_scaled(1.0, coulomb_same_[k].data(), r);
  for (std::size_t i = 0; i < os; ++i) {
    std::vector<double> f_mi(os);
    for (std::size_t m = 0; m < os; ++m) {
      f_mi[m] = fock(s, m, i);
      for (std::size_t e = 0; e < vs; ++e) f_mi[m] += fock(s, m, os + e) * t1(s)[i * vs + e];
    }
    for (std::size_t a = 0; a < vs; ++a) {
      double sum = fock(s, i, os + a) + problem_.omega2 * t1(s)[i * vs + a];
      for (std::size_t e = 0; e < vs; ++e) sum += t1(s)[i * vs + e] * fock(s, os + a, os + e);
      for (std::size_t m = 0; m < os; ++m) sum -= t1(s)[m * vs + a] * f_mi[m];
      r[i * vs + a] += sum;
    }
  }
  return r;
}

SinglesResidual SinglesEquation::residual() const {
  SinglesResidual found;
  std::array<std::vector<double>, 2> r, q;
  double largest_t1 = 0.0, squares_of_t1 = 0.0, products = 0.0, squares_of_r = 0.0;
  for (int s = 0; s < spins(); ++s) {
    const std::size_t os = o(s), vs = v(s), k = at(s);
    if (os * vs == 0) continue;
    found.complete = found.complete && complete(s);
    r[k] = whole_residual(s);
    q[k].resize(os * vs);
    for (std::size_t i = 0; i < os; ++i) {
      for (std::size_t a = 0; a < vs; ++a) {
        const std::size_t ia = i * vs + a;
        const double t = t1(s)[ia];
        q[k][ia] = std::abs(r[k][ia] / (fock(s, i, i) - fock(s, os + a, os + a) - problem_.omega2));
        largest_t1 = std::max(largest_t1, std::abs(t));
        squares_of_t1 += t * t;
        products += t * r[k][ia];
        squares_of_r += r[k][ia] * r[k][ia];
        // This comparison is also true if q is not a number.
        if (!(q[k][ia] <= found.step)) {
          found.step = q[k][ia];
          found.spin = s;
          found.i = signed_of(i);
          found.a = signed_of(a);
        }
      }
    }
  }
  found.singles = largest_t1 > 1e-8;
  if (found.singles) {
    found.along_t1 = products / squares_of_t1;
    found.across_t1 = std::sqrt(std::max(0.0, squares_of_r - products * products / squares_of_t1) / squares_of_t1);
  }
  for (int s = 0; s < spins(); ++s) {
    const std::size_t vs = v(s), k = at(s);
    for (std::size_t ia = 0; ia < q[k].size(); ++ia) {
      const bool here = s == found.spin;
      const bool counts = std::abs(t1(s)[ia]) > 1e-4 * largest_t1;
      if (!here || signed_of(ia / vs) != found.i) found.other_rows = std::max(found.other_rows, q[k][ia]);
      if (!here || signed_of(ia % vs) != found.a) {
        found.other_columns = std::max(found.other_columns, q[k][ia]);
      }
      if (counts) ++found.elements;
    }
  }
  return found;
}

}
