#pragma once

#include <array>

#include "cxx/triples/terms.hpp"

/// The order in which a kernel goes through the products of a task.
///
/// Each product is one phase: `particle` is the particle that stands alone in A, `hole` the hole that stands alone in
/// B. Sums stay in registers from the first phase to the last. While `hole` stays, a change of `particle` renames
/// registers; a change of `hole` interchanges lanes, so it comes only twice.
namespace trifuse::gpu {

struct PhaseAxes {
  int particle;
  int hole;
};

inline constexpr int phases_of_target = 9;
inline constexpr std::array<PhaseAxes, phases_of_target> phase_order = {
    {{0, 2}, {1, 2}, {2, 2}, {2, 1}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {2, 0}}};

/// The place of a product in this order.
constexpr int phase_of(int particle, int hole) {
  for (int n = 0; n < phases_of_target; ++n) {
    if (phase_order[static_cast<std::size_t>(n)].particle == particle &&
        phase_order[static_cast<std::size_t>(n)].hole == hole) {
      return n;
    }
  }
  return -1;
}

/// In spin-orbital form the signs of the terms alternate along this order, so sums are negated between phases and no
/// operand carries a sign. They end with the sign of the last phase reversed.
static_assert(
    [] {
      for (const Term& term : terms) {
        if (term.kind == TermKind::singles) continue;
        if (term.sign != (phase_of(term.particle, term.hole) % 2 == 0 ? -1 : +1)) return false;
      }
      return true;
    }(),
    "the signs of the terms must alternate");
inline constexpr double final_sign = -1.0;

}  // namespace trifuse::gpu
