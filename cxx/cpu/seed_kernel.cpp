#include "cxx/cpu/seed_kernel.hpp"

#include <algorithm>
#include <limits>

#include "cxx/base/vector_clones.hpp"
#include "cxx/cpu/disconnected_rows.hpp"
#include "cxx/cpu/element_rows.hpp"
#include "cxx/triples/energy.hpp"
#include "cxx/triples/seeds.hpp"

namespace trifuse {

namespace {

/// A row of `length` consecutive c of one (i, j, k, a, b).
template <int length>
struct SeedRow {
  alignas(64) double s[6][length];     ///< S, then its seeds
  alignas(64) double factor[length];   ///< weight / x; 0 for elements that are left out
  alignas(64) double inverse[length];  ///< 1 / x
  alignas(64) double of_x[length];     ///< dE/dx
};

/// Computes the seeds of the row that begins at `at` in the targets.
template <int targets, bool two_sided, int length>
TRIFUSE_ALWAYS_INLINE void seeds_of_row(const SeedOutput& out, std::int64_t at, SeedRow<length>& row) {
  auto& s = row.s;
  if constexpr (targets == 1) {
    double *left = out.left[0] + at, *right = out.right[0] + at;
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const double l = left[c], r = right[c], f = row.factor[c], of_s = spin_orbital_left_seed(r, f),
                   of_right = spin_orbital_right_seed(l, s[0][c], f);
      const double energy = spin_orbital_energies(l * r, s[0][c] * r).e_paren_t * f;
      row.of_x[c] = denominator_seed(energy, row.inverse[c]);
      s[0][c] = of_s;
      left[c] = two_sided ? of_s : of_s + of_right;
      if (two_sided) right[c] = of_right;
    }
  } else {
    double *l0 = out.left[0] + at, *l1 = out.left[1] + at, *l2 = out.left[2] + at, *l3 = out.left[3] + at,
           *l4 = out.left[4] + at, *l5 = out.left[5] + at;
    double *r0 = out.right[0] + at, *r1 = out.right[1] + at, *r2 = out.right[2] + at, *r3 = out.right[3] + at,
           *r4 = out.right[4] + at, *r5 = out.right[5] + at;
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const SixTargets l{l0[c], l1[c], l2[c], l3[c], l4[c], l5[c]}, r{r0[c], r1[c], r2[c], r3[c], r4[c], r5[c]},
          singles{s[0][c], s[1][c], s[2][c], s[3][c], s[4][c], s[5][c]};
      const double f = row.factor[c];
      const double energy = spin_adapted_numerators(l, singles, r).all.e_paren_t * f;
      row.of_x[c] = denominator_seed(energy, row.inverse[c]);
      const SixTargets of_s = spin_adapted_left_seeds(r, f), of_right = spin_adapted_right_seeds(l, singles, f);
      s[0][c] = of_s.e0, s[1][c] = of_s.e1, s[2][c] = of_s.e2;
      s[3][c] = of_s.o3, s[4][c] = of_s.o4, s[5][c] = of_s.o5;
      const double both = two_sided ? 0.0 : 1.0;
      l0[c] = of_s.e0 + both * of_right.e0, l1[c] = of_s.e1 + both * of_right.e1;
      l2[c] = of_s.e2 + both * of_right.e2, l3[c] = of_s.o3 + both * of_right.o3;
      l4[c] = of_s.o4 + both * of_right.o4, l5[c] = of_s.o5 + both * of_right.o5;
      if (two_sided) {
        r0[c] = of_right.e0, r1[c] = of_right.e1, r2[c] = of_right.e2;
        r3[c] = of_right.o3, r4[c] = of_right.o4, r5[c] = of_right.o5;
      }
    }
  }
}

/// The adjoint of add_terms(): adds the derivatives by the tensors of all terms. `seeds`: of S.
template <int length>
TRIFUSE_ALWAYS_INLINE void add_singles(const std::vector<ResolvedTerm>& terms, const std::vector<SinglesSums>& sums,
                                       const EnergyInput& in, const Indices& x, const double (&seeds)[6][length]) {
  for (std::size_t n = 0; n < terms.size(); ++n) {
    const ResolvedTerm& term = terms[n];
    const auto first = static_cast<std::size_t>(term.first), second = static_cast<std::size_t>(term.second),
               particle = static_cast<std::size_t>(term.particle);
    const double* vvoo = term.vvoo + term.second_extent * x[first];
    double* vvoo_sum = sums[n].vvoo + row_length(in.extent[second]) * x[first];
    double* ov_sum = sums[n].ov_tensor;
    const double* __restrict seed = seeds[term.target];
    const bool c_alone = term.particle == 2;
    double* scalar_sum = c_alone ? vvoo_sum + x[second] : ov_sum + x[particle];
    double* __restrict vector_sum = (c_alone ? ov_sum : vvoo_sum) + x[2];
    const double scale = term.sign * (c_alone ? vvoo[x[second]] : term.ov_tensor[x[particle]]);
    const double* __restrict vector = (c_alone ? term.ov_tensor : vvoo) + x[2];
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < length; ++c) {
      vector_sum[c] += scale * seed[c];
      sum += seed[c] * vector[c];
    }
    *scalar_sum += term.sign * sum;
  }
}

/// Sets the targets of all elements [at, at + count) to zero.
void leave_out_rows(const SeedOutput& out, int targets, std::int64_t at, std::int64_t count) {
  for (std::size_t t = 0; t < static_cast<std::size_t>(targets); ++t) {
    std::fill_n(out.left[t] + at, count, 0.0);
    std::fill_n(out.right[t] + at, count, 0.0);
  }
}

/// Resolves the places of derivatives for the holes of `x`, as resolve() resolves the tensors.
void resolve_sums(const EnergyInput& in, const SeedOutput& out, const Indices& x, std::vector<SinglesSums>& sums) {
  sums.clear();
  for (std::size_t n = 0; n < in.left[0].singles.size(); ++n) {
    const SinglesTerm& term = in.left[0].singles[n];
    const auto at = [](int position) { return static_cast<std::size_t>(position); };
    const auto [q1, q2] = term.vvoo_particles;
    const auto [r1, r2] = term.vvoo_holes;
    const std::int64_t pair_of_holes = x[at(3 + r2)] + in.extent[at(3 + r2)] * x[at(3 + r1)];
    sums.push_back({out.singles[n].ov_tensor + x[at(3 + term.hole)] * row_length(in.extent[at(term.particle)]),
                    out.singles[n].vvoo + in.extent[at(q1)] * row_length(in.extent[at(q2)]) * pair_of_holes});
  }
}

/// Computes the seeds of one task, see visit_rows().
template <int targets, bool two_sided>
class SeedRows {
 public:
  SeedRows(const EnergyInput& in, double omega2, SeedOutput& out) : in_(in), omega2_(omega2), out_(out) {}

  TRIFUSE_ALWAYS_INLINE bool begin_holes(const Indices& x, std::int64_t at, std::int64_t count) {
    if (vanishing_holes<targets>(in_, x)) {
      leave_out_rows(out_, targets, at, count);
      return false;
    }
    resolve(in_.left[0].singles, in_.extent, x, terms_);
    resolve_sums(in_, out_, x, sums_);
    holes_ = in_.eps[3][x[3]] + in_.eps[4][x[4]] + in_.eps[5][x[5]] - denominator_shift(omega2_);
    of_holes_ = 0.0;
    return true;
  }
  TRIFUSE_ALWAYS_INLINE bool begin_row(const Indices& x, std::int64_t at, std::int64_t count) const {
    if (!vanishing_pair<targets>(in_, x)) return true;
    leave_out_rows(out_, targets, at, count);
    return false;
  }
  template <int length>
  TRIFUSE_ALWAYS_INLINE void add(const Indices& x, std::int64_t at) {
    SeedRow<length> row;
    add_terms<targets>(terms_, x, row.s);
    const double rest = holes_ - in_.eps[0][x[0]] - in_.eps[1][x[1]];
    const double* __restrict eps_c = in_.eps[2] + x[2];
#pragma omp simd
    for (int c = 0; c < length; ++c) {
      const double denominator = rest - eps_c[c];
      row.inverse[c] = 1.0 / (denominator == 0.0 ? std::numeric_limits<double>::infinity() : denominator);
      row.factor[c] = in_.weight * row.inverse[c];
    }
    for_each_vanishing<targets, length>(in_, x, [&](std::int64_t c) { row.factor[c] = 0.0; });
    seeds_of_row<targets, two_sided>(out_, at, row);
    add_singles(terms_, sums_, in_, x, row.s);
    double sum = 0.0;
    double* __restrict of_c = out_.eps[2].data() + x[2];
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < length; ++c) {
      of_c[c] -= row.of_x[c];
      sum += row.of_x[c];
    }
    for (std::size_t q = 0; q < 2; ++q) out_.eps[q][static_cast<std::size_t>(x[q])] -= sum;
    of_holes_ += sum;
  }
  TRIFUSE_ALWAYS_INLINE void end_holes(const Indices& x) {
    for (std::size_t q = 3; q < 6; ++q) out_.eps[q][static_cast<std::size_t>(x[q])] += of_holes_;
    out_.omega2 -= denominator_shift(of_holes_);
  }

 private:
  const EnergyInput& in_;
  const double omega2_;
  SeedOutput& out_;
  std::vector<ResolvedTerm> terms_;
  std::vector<SinglesSums> sums_;
  double holes_ = 0.0;     ///< sum of the orbital energies of i, j, k, minus 3 omega2
  double of_holes_ = 0.0;  ///< derivative by this sum
};

template <int targets, bool two_sided>
TRIFUSE_ALWAYS_INLINE void seeds_of_task(const EnergyInput& in, double omega2, SeedOutput& out) {
  SeedRows<targets, two_sided> rows(in, omega2, out);
  visit_rows<16, Visited::all>(in, rows);
}

TRIFUSE_VECTOR_CLONES
void spin_orbital_seeds(const EnergyInput& in, double omega2, SeedOutput& out) {
  seeds_of_task<1, false>(in, omega2, out);
}
TRIFUSE_VECTOR_CLONES
void spin_orbital_seeds_of_sides(const EnergyInput& in, double omega2, SeedOutput& out) {
  seeds_of_task<1, true>(in, omega2, out);
}
TRIFUSE_VECTOR_CLONES
void spin_adapted_seeds(const EnergyInput& in, double omega2, SeedOutput& out) {
  seeds_of_task<6, false>(in, omega2, out);
}
TRIFUSE_VECTOR_CLONES
void spin_adapted_seeds_of_sides(const EnergyInput& in, double omega2, SeedOutput& out) {
  seeds_of_task<6, true>(in, omega2, out);
}

}

void compute_seeds(const EnergyInput& input, double omega2, SeedOutput& output) {
  const bool two_sided = output.left[0] != output.right[0];
  if (input.targets == 1) {
    (two_sided ? spin_orbital_seeds_of_sides : spin_orbital_seeds)(input, omega2, output);
  } else {
    (two_sided ? spin_adapted_seeds_of_sides : spin_adapted_seeds)(input, omega2, output);
  }
}

}
