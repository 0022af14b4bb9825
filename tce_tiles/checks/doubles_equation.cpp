#include "tce_tiles/checks/doubles_equation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/checks/doubles_arrays.hpp"
#include "tce_tiles/checks/doubles_of_spins.hpp"
#include "tce_tiles/checks/small_arrays_check.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/checks/sum_spins.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {
namespace {

class DoublesEquation {
 public:
  DoublesEquation(const DenseInput& input, int threads, const std::atomic<bool>* stop)
      : input_(input),
        products_{threads, stop},
        stop_(stop),
        o_(input.header.size(OrbitalClass::hole_alpha)),
        v_(input.header.size(OrbitalClass::particle_alpha)) {}

  DoublesResidual residual();

 private:
  ArraySpec spec(ArrayKind kind) const {
    return array_spec(kind, true, Spin::alpha, kind == ArrayKind::t1 ? Spin::alpha : Spin::beta);
  }
  DoublesArray read(ArrayKind kind) const {
    const auto array = open_array(*input_.arrays, input_.header, spec(kind));
    DoublesArray values({array->shape().begin(), array->shape().end()});
    stop_reading(stop_);
    array->read_all(values.values());
    return values;
  }
  void add(std::string_view expression, double alpha, const DoublesView& a, const DoublesView& b,
           const DoublesView& c) const {
    products_.add(expression, alpha, a, b, c);
  }
  void add(std::string_view expression, double alpha, DoublesArray& a, DoublesArray& b, DoublesArray& c) const {
    products_.add(expression, alpha, a.all(), b.all(), c.all());
  }
  /// Returns f[p,q] of two spaces that begin with the orbitals `p` and `q`.
  DoublesArray fock(std::int64_t p, std::int64_t p_count, std::int64_t q, std::int64_t q_count) const;
  double diagonal(std::int64_t p) const { return fock_[at(p * (o_ + v_ + 1))]; }
  void add_three_virtuals();
  void add_ladders(DoublesArray& p);
  void add_rings(DoublesArray& j);
  void add_fock_matrices(DoublesArray& j, DoublesArray& f_me);
  DoublesResidual largest_step();

  const DenseInput& input_;
  const DoublesProducts products_;
  const std::atomic<bool>* const stop_;
  const std::int64_t o_, v_;
  std::vector<double> fock_ = read_checked_fock(*input_.arrays, input_.header, Spin::alpha);
  DoublesArray t1_ = read(ArrayKind::t1), t2_ = read(ArrayKind::t2), ovov_ = read(ArrayKind::ovov);
  DoublesArray u_ = t2_, l_ = ovov_;          ///< u, and L[k,c,l,d]
  DoublesArray z_ = read(ArrayKind::oovv);    ///< Z[k,i,b,f], then [ki|ac]
  DoublesArray a_ = ovov_;                    ///< [ai|kc] as [k,c,i,a]
  DoublesArray g_{{o_, o_, v_, v_}};          ///< G[i,j,a,b]
  DoublesArray c_{{o_, o_, v_, v_}};          ///< c[i,j,a,b]
  DoublesArray w_{{o_, o_, o_, v_}};          ///< [m,i,j,b]: the sums in G that are multiplied with t_m^a
  DoublesArray f_bc_ = fock(o_, v_, o_, v_);  ///< F_bc
};

DoublesArray DoublesEquation::fock(std::int64_t p, std::int64_t p_count, std::int64_t q, std::int64_t q_count) const {
  DoublesArray part({p_count, q_count});
  for (std::int64_t n = 0; n < p_count; ++n) {
    std::copy_n(fock_.data() + (p + n) * (o_ + v_) + q, q_count, part.data() + n * q_count);
  }
  return part;
}

/// Adds the terms of ovvv and kvvv, for a few first indices at a time.
void DoublesEquation::add_three_virtuals() {
  const auto ovvv = open_array(*input_.arrays, input_.header, spec(ArrayKind::ovvv));
  const auto kvvv = open_array(*input_.arrays, input_.header, spec(ArrayKind::kvvv));
  const std::int64_t step = std::clamp<std::int64_t>(three_virtuals_at_a_time / (v_ * v_ * v_), 1, o_);
  DoublesArray block({step, v_, v_, v_});
  for (std::int64_t k = 0; k < o_; k += step) {
    const std::int64_t count = std::min(step, o_ - k);
    const std::array<std::int64_t, 4> offset = {k, 0, 0, 0}, extent = {count, v_, v_, v_};
    const DoublesView rows = block.rows(0, count), t1 = t1_.all();
    const std::span<double> values = block.values().first(at(count * v_ * v_ * v_));
    stop_reading(stop_);
    ovvv->read(offset, extent, values);
    add("kebf,ie->kibf", 1.0, rows, t1, z_.rows(k, count));
    add("kcae,ie->kcia", 1.0, rows, t1, a_.rows(k, count));
    add("iabf,jf->ijab", 1.0, rows, t1, g_.rows(k, count));
    add("mcbd,ijcd->mijb", -1.0, rows, t2_.all(), w_.rows(k, count));
    add("nebc,ne->bc", 2.0, rows, t1_.rows(k, count), f_bc_.all());
    add("ncbe,ne->bc", -1.0, rows, t1_.rows(k, count), f_bc_.all());
    stop_reading(stop_);
    kvvv->read(offset, extent, values);
    add("iabf,jf->ijab", 0.5, rows, t1, g_.rows(k, count));
  }
}

/// `p`: P(ki,lj) without its last term.
void DoublesEquation::add_ladders(DoublesArray& p) {
  add("kcld,ijcd->kilj", 1.0, ovov_, t2_, p);
  add("minj,nb->mijb", 0.5, p, t1_, w_);
  add("mijb,ma->ijab", 1.0, w_, t1_, g_);
  add("kilj,klab->ijab", 0.5, p, t2_, g_);
}

void DoublesEquation::add_rings(DoublesArray& j) {
  add("mcki,ma->kiac", -1.0, j, t1_, z_);
  add("kcmi,ma->kcia", -1.0, j, t1_, a_);
  double* to = a_.data();
  for (std::int64_t k = 0; k < o_; ++k) {
    for (std::int64_t c = 0; c < v_; ++c) {
      for (std::int64_t i = 0; i < o_; ++i) {
        const double* const from = z_.data() + (k * o_ + i) * v_ * v_ + c;
        for (std::int64_t a = 0; a < v_; ++a, ++to) *to = 2.0 * *to - from[a * v_];
      }
    }
  }
  add("ilad,ldkc->kcia", 0.5, u_, l_, a_);
  add("jkbc,kcia->ijab", 0.5, u_, a_, g_);
  add("liad,kdlc->kiac", -0.5, t2_, ovov_, z_);
  add("kjbc,kiac->ijab", 1.0, t2_, z_, c_);
}

void DoublesEquation::add_fock_matrices(DoublesArray& j, DoublesArray& f_me) {
  add("mb,mc->bc", -1.0, t1_, f_me, f_bc_);
  add("klbd,ldkc->bc", -1.0, u_, ovov_, f_bc_);
  DoublesArray f_kj = fock(0, o_, 0, o_), f_ov = fock(0, o_, o_, v_);
  add("ke,je->kj", 1.0, f_ov, t1_, f_kj);
  add("mekj,me->kj", 2.0, j, t1_, f_kj);
  add("kemj,me->kj", -1.0, j, t1_, f_kj);
  add("ljcd,kdlc->kj", 1.0, u_, ovov_, f_kj);
  add("ijac,bc->ijab", 1.0, t2_, f_bc_, g_);
  add("ikab,kj->ijab", -1.0, t2_, f_kj, g_);
}

DoublesResidual DoublesEquation::residual() {
  sum_spins(o_ * o_, v_, u_.data());
  double* to = l_.data();
  for (std::int64_t k = 0; k < o_; ++k) {
    for (std::int64_t c = 0; c < v_; ++c) {
      for (std::int64_t l = 0; l < o_; ++l) {
        const double* const exchanged = ovov_.data() + (k * v_ * o_ + l) * v_ + c;
        for (std::int64_t d = 0; d < v_; ++d, ++to) *to = 2.0 * *to - exchanged[d * o_ * v_];
      }
    }
  }
  for (std::int64_t b = 0; b < v_; ++b) f_bc_.data()[b * (v_ + 1)] += input_.header.info.omega2;
  DoublesArray f_me = fock(0, o_, o_, v_);
  add("menf,nf->me", 1.0, l_, t1_, f_me);
  DoublesArray ovoo = read(ArrayKind::ovoo), j = ovoo, p = read(ArrayKind::oooo);
  add("mekf,jf->mekj", 1.0, ovov_, t1_, j);
  add("kelj,ie->kilj", 1.0, ovoo, t1_, p);
  add("lfki,jf->kilj", 1.0, j, t1_, p);
  add_three_virtuals();
  DoublesArray x = j;
  add("kibf,jf->jbki", 1.0, z_, t1_, x);
  add("jbmi,ma->ijab", -1.0, x, t1_, g_);
  add_ladders(p);
  add_rings(j);
  add_fock_matrices(j, f_me);
  return largest_step();
}

DoublesResidual DoublesEquation::largest_step() {
  DoublesArray ladder = read(ArrayKind::ladder);
  const double shift = 2.0 * input_.header.info.omega2;
  DoublesResidual found;
  for (std::int64_t i = 0; i < o_; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const std::int64_t ij = (i * o_ + j) * v_ * v_, ji = (j * o_ + i) * v_ * v_;
      for (std::int64_t a = 0; a < v_; ++a) {
        for (std::int64_t b = 0; b < v_; ++b) {
          const std::int64_t ab = a * v_ + b, ba = b * v_ + a;
          const double *const g = g_.data(), *const c = c_.data();
          const double r = ovov_.data()[((i * v_ + a) * o_ + j) * v_ + b] + ladder.data()[ij + ab] + g[ij + ab] +
                           g[ji + ba] - 0.5 * (c[ij + ab] + c[ji + ba]) - c[ji + ab] - c[ij + ba];
          const double step = std::abs(r / (diagonal(i) + diagonal(j) - diagonal(o_ + a) - diagonal(o_ + b) - shift));
          // This comparison is also true if the step is not a number.
          if (!(step <= found.step)) found = {step, i, j, a, b};
        }
      }
    }
  }
  return found;
}

}

std::string no_doubles_equation(const DenseInput& input) {
  const bool restricted = input.header.restricted;
  for (const auto& specs : {integral_arrays(restricted), exchange_arrays(restricted), moment_arrays(restricted)}) {
    for (const ArraySpec& spec : specs) {
      if (are_diagonals(spec.kind) || input.header.size(spec) == 0 || input.arrays->has(spec.name)) continue;
      const auto other = antisymmetrised_alternative(spec);
      if (!other || !input.arrays->has(other->name)) return fmt::format("{} is missing", spec.name);
      return fmt::format("it is known for integrals that are not antisymmetrised only, and {} is", other->name);
    }
  }
  for (const Spin spin : distinct_spins(restricted)) {
    if (open_fock(*input.arrays, input.header, spin) == nullptr) return "there is no Fock matrix";
  }
  return {};
}

DoublesResidual doubles_residual(const DenseInput& input, int threads, const std::atomic<bool>* stop) {
  if (!input.header.restricted) return doubles_residual_of_spins(input, threads, stop);
  return DoublesEquation(input, threads, stop).residual();
}

}
