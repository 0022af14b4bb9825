#include "cxx/cpu/denominator_rows.hpp"

#include "cxx/cpu/energy_kernel.hpp"

namespace trifuse {

namespace {

constexpr std::array<std::array<std::size_t, 2>, 3> pairs = {{{0, 1}, {0, 2}, {1, 2}}};

/// sums[n] += sign * from[n * stride].
void add(double sign, const double* from, std::int64_t stride, std::int64_t count, double* sums) {
  for (std::int64_t n = 0; n < count; ++n) sums[n] += sign * from[n * stride];
}

}

DenominatorRows::DenominatorRows(const TripleDenominators& tables, Denominator denominator,
                                 const std::array<std::int64_t, 3>& first, const std::array<std::int64_t, 3>& extent,
                                 bool spin_adapted)
    : tables_(tables),
      denominator_(denominator),
      first_(first),
      extent_(extent),
      rows_{row_length(extent[0]), row_length(extent[1]), row_length(extent[2])},
      cases_(spin_adapted ? 4 : 1) {}

void DenominatorRows::set_holes(const std::array<std::int64_t, 3>& numbers) {
  for (std::size_t n = 0; n < cases_.size(); ++n) {
    OfHoles& of = cases_[n];
    Holes holes{};
    for (std::size_t q = 0; q < 3; ++q) holes[q] = {numbers[q], q + 1 == n};
    of.constant = 0.0;
    add_constant(holes, of.constant);
    // Beside a hole with the spin beta there is one such particle.
    for (const bool beta : {false, true}) {
      if (beta && n == 0) continue;
      for (std::size_t position = 0; position < 3; ++position) set_vector(holes, beta, position, of.p[beta][position]);
      for (std::size_t pair = 0; pair < 3; ++pair) {
        set_matrix(holes, beta, false, pairs[pair], of.q[beta][false][pair]);
        if (beta) set_matrix(holes, false, true, pairs[pair], of.q[false][true][pair]);
      }
    }
  }
}

void DenominatorRows::add_constant(const Holes& holes, double& constant) const {
  for (const Hole& i : holes) constant += tables_.h[static_cast<std::size_t>(i.number)];
  if (denominator_ == Denominator::one_body) return;
  for (const auto& [q, r] : pairs) {
    const Hole &i = holes[q], &j = holes[r];
    constant -= tables_.of(i.beta == j.beta).hh[static_cast<std::size_t>(i.number * tables_.holes + j.number)];
  }
}

void DenominatorRows::set_vector(const Holes& holes, bool beta, std::size_t position, std::vector<double>& p) const {
  const std::int64_t first = first_[position], count = extent_[position], particles = tables_.particles;
  p.assign(static_cast<std::size_t>(rows_[position]), 0.0);
  add(-1.0, tables_.p.data() + first, 1, count, p.data());
  if (denominator_ == Denominator::one_body) return;
  for (const Hole& i : holes)
    add(-1.0, tables_.of(i.beta == beta).hp.data() + i.number * particles + first, 1, count, p.data());
  if (denominator_ == Denominator::two_body) return;
  for (const auto& [q, r] : pairs) {
    const bool equal = holes[q].beta == holes[r].beta;
    if (equal && holes[q].beta != beta) continue;
    const Hole &i = holes[q].beta == beta ? holes[q] : holes[r], &j = holes[q].beta == beta ? holes[r] : holes[q];
    add(1.0, tables_.of(equal).hhp.data() + (i.number * tables_.holes + j.number) * particles + first, 1, count,
        p.data());
  }
}

void DenominatorRows::set_matrix(const Holes& holes, bool first_beta, bool second_beta,
                                 const std::array<std::size_t, 2>& positions, std::vector<double>& q) const {
  const std::int64_t particles = tables_.particles, row = rows_[positions[1]], count = extent_[positions[1]];
  const bool equal = first_beta == second_beta;
  const TripleDenominators::Terms& terms = tables_.of(equal);
  q.assign(static_cast<std::size_t>(extent_[positions[0]] * row), 0.0);
  if (denominator_ == Denominator::one_body) return;
  for (std::int64_t x = 0; x < extent_[positions[0]]; ++x) {
    const std::int64_t a = first_[positions[0]] + x, b = first_[positions[1]];
    double* const sums = q.data() + x * row;
    add(-1.0, terms.pp.data() + a * particles + b, 1, count, sums);
    if (denominator_ == Denominator::two_body) continue;
    for (const Hole& i : holes) {
      // The first particle of the table has the spin of the hole.
      const double* const of_hole = terms.hpp.data() + i.number * particles * particles;
      if (i.beta == first_beta) {
        add(-1.0, of_hole + a * particles + b, 1, count, sums);
      } else if (!equal) {
        add(-1.0, of_hole + b * particles + a, particles, count, sums);
      }
    }
  }
}

}
