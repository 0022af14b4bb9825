#include "cxx/nwchem/recorded_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// No tile and no task is larger.
constexpr std::int64_t most_orbitals = 1 << 20, most_elements = std::int64_t{1} << 40;

const char* kernel_family(TermKind kind) {
  return kind == TermKind::singles ? "s1" : kind == TermKind::hole_doubles ? "d1" : "d2";
}

std::int64_t t_size(TermKind kind, const RecordedTask::CallExtents& x) {
  switch (kind) {
    case TermKind::singles:
      return x.p4 * x.h1;
    case TermKind::hole_doubles:
      return x.inner * x.p4 * x.p5 * x.h1;
    case TermKind::particle_doubles:
      break;
  }
  return x.inner * x.p4 * x.h1 * x.h2;
}

std::int64_t v_size(TermKind kind, const RecordedTask::CallExtents& x) {
  switch (kind) {
    case TermKind::singles:
      return x.h3 * x.h2 * x.p6 * x.p5;
    case TermKind::hole_doubles:
      return x.h3 * x.h2 * x.p6 * x.inner;
    case TermKind::particle_doubles:
      break;
  }
  return x.inner * x.h3 * x.p6 * x.p5;
}

/// The extents that the call of a term must have in a task.
RecordedTask::CallExtents expected_extents(const Term& term, const RecordedTask::Extents& task) {
  const auto particle = [&](int n) { return task[static_cast<std::size_t>(n)]; };
  const auto hole = [&](int n) { return task[static_cast<std::size_t>(3 + n)]; };
  const auto [p, pp] = others(term.particle);
  const auto [h, hh] = others(term.hole);
  switch (term.kind) {
    case TermKind::singles:
      return {hole(term.hole), hole(h), hole(hh), particle(term.particle), particle(p), particle(pp)};
    case TermKind::hole_doubles:
      return {hole(term.hole), hole(h), hole(hh), particle(p), particle(pp), particle(term.particle)};
    case TermKind::particle_doubles:
      break;
  }
  return {hole(h), hole(hh), hole(term.hole), particle(term.particle), particle(p), particle(pp)};
}

}  // namespace

void RecordedTask::begin(const Extents& extent, bool& begun) {
  double elements = 1.0;
  for (const std::int64_t n : extent) {
    if (n < 1 || n > most_orbitals) throw UsageError(fmt::format("A tile of a task cannot have {} orbitals.", n));
    elements *= static_cast<double>(n);
  }
  if (elements > static_cast<double>(most_elements)) {
    throw UsageError("The tiles of a task are too large: together they make more than 2^40 elements.");
  }
  if (begun) clear();  // the task before was given up
  if ((singles_begun_ || doubles_begun_) && extent != extent_) {
    throw UsageError("Singles and doubles of a task must have the same tiles; one of them was left out.");
  }
  extent_ = extent;
  begun = true;
}

void RecordedTask::add(const Term& term, const CallExtents& call, const double* t, const double* v) {
  const bool begun = term.kind == TermKind::singles ? singles_begun_ : doubles_begun_;
  if (!begun) {
    throw UsageError(fmt::format("Kernel {}_{} was called before the memory of its task was asked for.",
                                 kernel_family(term.kind), term.number));
  }
  const CallExtents wanted = expected_extents(term, extent_);
  const bool same = call.h1 == wanted.h1 && call.h2 == wanted.h2 && call.h3 == wanted.h3 && call.p4 == wanted.p4 &&
                    call.p5 == wanted.p5 && call.p6 == wanted.p6;
  if (!same || call.inner < 1 || call.inner > most_orbitals) {
    throw UsageError(fmt::format("Kernel {}_{} was called with tiles that are not those of its task.",
                                 kernel_family(term.kind), term.number));
  }
  if (t == nullptr || v == nullptr) {
    throw UsageError(fmt::format("Kernel {}_{} was called without operands.", kernel_family(term.kind), term.number));
  }
  const std::int64_t nt = t_size(term.kind, call), nv = v_size(term.kind, call);
  // Where tiles coincide the same operands come again for another kernel.
  const auto all = static_cast<std::size_t>(nt + nv);
  const double* last = numbers_.data() + last_begin_;
  if (last_end_ - last_begin_ == all && std::equal(t, t + nt, last) && std::equal(v, v + nv, last + nt)) {
    calls_.push_back({&term, call, last_begin_, last_begin_ + static_cast<std::size_t>(nt)});
    return;
  }
  const std::size_t first = store(t, nt), second = store(v, nv);
  calls_.push_back({&term, call, first, second});
  last_begin_ = first;
  last_end_ = numbers_.size();
}

std::size_t RecordedTask::store(const double* numbers, std::int64_t count) {
  const std::size_t first = numbers_.size();
  numbers_.insert(numbers_.end(), numbers, numbers + count);
  return first;
}

void RecordedTask::clear() {
  calls_.clear();
  numbers_.clear();
  last_begin_ = last_end_ = 0;
  singles_begun_ = doubles_begun_ = false;
}

std::int64_t RecordedTask::inner(int particle, int hole) const {
  std::int64_t total = 0;
  for (const Call& call : calls_) {
    const Term& term = *call.term;
    if (term.kind != TermKind::singles && term.particle == particle && term.hole == hole) total += call.extent.inner;
  }
  return total;
}

void RecordedTask::assemble(int particle, int hole, Buffer& left, Buffer& right) const {
  const std::int64_t total = inner(particle, hole);
  const auto size = [&](int position) { return extent_[static_cast<std::size_t>(position)]; };
  const auto [p, pp] = others(particle);
  const auto [h, hh] = others(hole);
  const std::int64_t np = size(particle), nh = size(3 + h), nhh = size(3 + hh);
  const std::int64_t mp = size(p), mpp = size(pp), mh = size(3 + hole);
  left.reserve(static_cast<std::size_t>(total * np * nh * nhh));
  right.reserve(static_cast<std::size_t>(total * mp * mpp * mh));
  std::int64_t done = 0;
  /// Copies a rank-4 operand, whose strides are those of (inner, then the rows' indices, the fastest first), into rows.
  const auto copy = [&](const double* from, std::int64_t n, const std::array<std::int64_t, 3>& rows,
                        const std::array<std::int64_t, 4>& stride, double* to) {
    for (std::int64_t z = 0; z < rows[2]; ++z)
      for (std::int64_t y = 0; y < rows[1]; ++y)
        for (std::int64_t x = 0; x < rows[0]; ++x, to += total) {
          const double* source = from + x * stride[1] + y * stride[2] + z * stride[3];
          for (std::int64_t d = 0; d < n; ++d) to[done + d] = source[d * stride[0]];
        }
  };
  for (const Call& call : calls_) {
    const Term& term = *call.term;
    if (term.kind == TermKind::singles || term.particle != particle || term.hole != hole) continue;
    const double *t = numbers_.data() + call.t, *v = numbers_.data() + call.v;
    const std::int64_t n = call.extent.inner;
    if (term.kind == TermKind::hole_doubles) {
      copy(v, n, {np, nhh, nh}, {nhh * nh * np, nhh * nh, 1, nhh}, left.data());
      copy(t, n, {mpp, mp, mh}, {1, n * mp, n, n * mp * mpp}, right.data());
    } else {
      copy(t, n, {np, nhh, nh}, {1, n, n * np * nh, n * np}, left.data());
      copy(v, n, {mpp, mp, mh}, {1, n * mh, n * mh * mpp, n}, right.data());
    }
    done += n;
  }
}

std::vector<RecordedTask::Singles> RecordedTask::singles(std::size_t padding) const {
  std::vector<Singles> all;
  for (const Call& call : calls_) {
    if (call.term->kind != TermKind::singles) continue;
    const CallExtents& x = call.extent;
    Singles& one = all.emplace_back();
    one.term = call.term;
    const auto lone_size = static_cast<std::size_t>(x.p4 * x.h1),
               pair_size = static_cast<std::size_t>(x.p5 * x.p6 * x.h2 * x.h3);
    one.pairs.assign(pair_size + padding, 0.0);
    one.lone.assign(lone_size + padding, 0.0);
    const double* v = numbers_.data() + call.v;
    double* to = one.pairs.data();
    for (std::int64_t h2 = 0; h2 < x.h2; ++h2)
      for (std::int64_t h3 = 0; h3 < x.h3; ++h3)
        for (std::int64_t p5 = 0; p5 < x.p5; ++p5)
          for (std::int64_t p6 = 0; p6 < x.p6; ++p6) *to++ = v[h3 + x.h3 * (h2 + x.h2 * (p6 + x.p6 * p5))];
    std::copy_n(numbers_.data() + call.t, lone_size, one.lone.data());
  }
  return all;
}

}  // namespace trifuse
