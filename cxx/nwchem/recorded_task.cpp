#include "cxx/nwchem/recorded_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Upper limits of the orbitals of a tile and of the elements of a task.
constexpr std::int64_t max_orbitals = 1 << 20, max_elements = std::int64_t{1} << 40;

const char* kernel_family(TermKind kind) {
  return kind == TermKind::singles ? "s1" : kind == TermKind::hole_doubles ? "d1" : "d2";
}

/// Copies a part of an operand to `to`, in the operand's order. `whole`: extents of the operand. `begin`, `extent`:
/// first index and extents of the part. All are in Fortran order.
void copy_part(const double* from, const RecordedTask::Operand& whole, const RecordedTask::Operand& begin,
               const RecordedTask::Operand& extent, std::vector<double>& to) {
  to.clear();
  for (std::int64_t z = begin[3]; z < begin[3] + extent[3]; ++z)
    for (std::int64_t y = begin[2]; y < begin[2] + extent[2]; ++y)
      for (std::int64_t x = begin[1]; x < begin[1] + extent[1]; ++x) {
        const double* run = from + begin[0] + whole[0] * (x + whole[1] * (y + whole[2] * z));
        to.insert(to.end(), run, run + extent[0]);
      }
}

}

RecordedTask::OperandExtents RecordedTask::operand_extents(TermKind kind, const CallExtents& x) {
  switch (kind) {
    case TermKind::singles:
      return {{x.p4, x.h1, 1, 1}, {x.h3, x.h2, x.p6, x.p5}};
    case TermKind::hole_doubles:
      return {{x.contracted, x.p4, x.p5, x.h1}, {x.h3, x.h2, x.p6, x.contracted}};
    case TermKind::particle_doubles:
      break;
  }
  return {{x.contracted, x.p4, x.h1, x.h2}, {x.contracted, x.h3, x.p6, x.p5}};
}

RecordedTask::OperandSizes RecordedTask::operand_sizes(TermKind kind, const CallExtents& call) {
  const auto product = [](const Operand& n) { return n[0] * n[1] * n[2] * n[3]; };
  const OperandExtents extents = operand_extents(kind, call);
  return {product(extents.t), product(extents.v)};
}

RecordedTask::CallExtents RecordedTask::call_extents(const Term& term, const Extents& task, std::int64_t contracted) {
  const auto particle = [&](int n) { return task[static_cast<std::size_t>(n)]; };
  const auto hole = [&](int n) { return task[static_cast<std::size_t>(3 + n)]; };
  const auto [p, pp] = others(term.particle);
  const auto [h, hh] = others(term.hole);
  switch (term.kind) {
    case TermKind::singles:
      return {hole(term.hole), hole(h), hole(hh), particle(term.particle), particle(p), particle(pp)};
    case TermKind::hole_doubles:
      return {hole(term.hole), hole(h), hole(hh), particle(p), particle(pp), particle(term.particle), contracted};
    case TermKind::particle_doubles:
      break;
  }
  return {hole(h), hole(hh), hole(term.hole), particle(term.particle), particle(p), particle(pp), contracted};
}

void RecordedTask::begin(const Extents& extent, bool& begun) {
  double elements = 1.0;
  for (const std::int64_t n : extent) {
    if (n < 1 || n > max_orbitals) throw UsageError(fmt::format("A tile of a task cannot have {} orbitals.", n));
    elements *= static_cast<double>(n);
  }
  if (elements > static_cast<double>(max_elements)) {
    throw UsageError("The tiles of a task are too large: together they make more than 2^40 elements.");
  }
  if (begun) clear();  // the previous task was abandoned
  if (this->begun() && extent != extent_) {
    throw UsageError("Singles and doubles of a task must have the same tiles; one of them was left out.");
  }
  extent_ = extent;
  begun = true;
}

void RecordedTask::add(const Term& term, const CallExtents& call, const double* t, const double* v) {
  const bool begun = term.kind == TermKind::singles ? singles_begun_ : doubles_begun_;
  if (!begun) {
    throw UsageError(fmt::format("Kernel {}_{} was called before the memory of its task was requested.",
                                 kernel_family(term.kind), term.number));
  }
  if (call.contracted < 1 || call.contracted > max_orbitals || call != call_extents(term, extent_, call.contracted)) {
    throw UsageError(fmt::format("Kernel {}_{} was called with other tiles than those of its task.",
                                 kernel_family(term.kind), term.number));
  }
  if (t == nullptr || v == nullptr) {
    throw UsageError(fmt::format("Kernel {}_{} was called without operands.", kernel_family(term.kind), term.number));
  }
  const auto operand = [](const double* numbers, std::int64_t count) {
    return std::span(numbers, static_cast<std::size_t>(count));
  };
  const OperandSizes size = operand_sizes(term.kind, call);
  const double* copy_of_t = store_.add_copy(operand(t, size.t));
  calls_.push_back({&term, call, copy_of_t, store_.add_copy(operand(v, size.v))});
}

void RecordedTask::copy_to(RecordedTask& other) const {
  begin_like_this(other, extent_);
  const auto fetch = [&](const double* operand, std::int64_t count) {
    return store_.fetch(operand, static_cast<std::size_t>(count));
  };
  for (const Call& call : calls_) {
    const OperandSizes size = operand_sizes(call.term->kind, call.extent);
    other.add(*call.term, call.extent, fetch(call.t, size.t).data(), fetch(call.v, size.v).data());
  }
}

void RecordedTask::copy_region_to(RecordedTask& other, const Region& region) const {
  begin_like_this(other, region.extent);
  std::vector<double> t, v;
  for (const Call& call : calls_) {
    const TermKind kind = call.term->kind;
    const OperandExtents whole = operand_extents(kind, call.extent);
    const CallExtents extent = call_extents(*call.term, region.extent, call.extent.contracted);
    const OperandExtents part = operand_extents(kind, extent);
    OperandExtents begin = operand_extents(kind, call_extents(*call.term, region.begin, 0));
    if (kind == TermKind::singles) begin.t[2] = begin.t[3] = 0;  // t1 has only two indices
    copy_part(call.t, whole.t, begin.t, part.t, t);
    copy_part(call.v, whole.v, begin.v, part.v, v);
    other.add(*call.term, extent, t.data(), v.data());
  }
}

void RecordedTask::begin_like_this(RecordedTask& other, const Extents& extent) const {
  other.clear();
  if (singles_begun_) other.begin_singles(extent);
  if (doubles_begun_) other.begin_doubles(extent);
}

void RecordedTask::clear() {
  calls_.clear();
  store_.clear();
  singles_begun_ = doubles_begun_ = false;
}

std::vector<RecordedTask::OperandPair> RecordedTask::operand_pairs(int particle, int hole) const {
  std::vector<OperandPair> all;
  for (const Call& call : calls_) {
    const Term& term = *call.term;
    if (term.kind == TermKind::singles || term.particle != particle || term.hole != hole) continue;
    const CallExtents& x = call.extent;
    const std::int64_t n = x.contracted;
    if (term.kind == TermKind::hole_doubles) {
      // v2[h7,p6,h2,h3] is the left operand with lone particle p6, t2[h1,p5,p4,h7] the right one with lone hole h1.
      all.push_back(
          {n, {call.v, x.h3 * x.h2 * x.p6, {x.h3 * x.h2, x.h3, 1}}, {call.t, 1, {n, n * x.p4, n * x.p4 * x.p5}}});
    } else {
      // t2[h2,h1,p4,p7] is the left operand with lone particle p4, v2[p5,p6,h3,p7] the right one with lone hole h3.
      all.push_back({n, {call.t, 1, {n, n * x.p4, n * x.p4 * x.h1}}, {call.v, 1, {n * x.h3 * x.p6, n * x.h3, n}}});
    }
  }
  return all;
}

std::vector<RecordedTask::Singles> RecordedTask::singles() const {
  std::vector<Singles> all;
  for (const Call& call : calls_) {
    if (call.term->kind != TermKind::singles) continue;
    const CallExtents& x = call.extent;
    // v2[p5,p6,h2,h3]
    all.push_back({call.term, call.t, call.v, {x.h3 * x.h2 * x.p6, x.h3 * x.h2, x.h3, 1}});
  }
  return all;
}

}
