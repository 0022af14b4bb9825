#pragma once

#include <array>
#include <cstdint>

/// The 27 terms of the spin-orbital triples correction.
///
/// For the task D[abc,ijk] with antisymmetrised T2 and V2, l summed over holes and d over particles:
///
///     singles           S += sign * t1[p, h]       * v2[pp', hh']  p and h alone in t1
///     hole doubles      D += sign * t2[pp', h l]   * v2[l p, hh']  h alone in t2, p alone in v2
///     particle doubles  D += sign * t2[p d, hh']   * v2[pp', h d]  p alone in t2, h alone in v2
///
/// Here x[uu', ll'] has upper (bra) indices uu' and lower (ket) indices ll'; `pp'` and `hh'` are the two other indices
/// in ascending order. So a term is named by its kind, the particle that is alone and the hole that is alone, and its
/// sign follows from these. Everything that evaluates triples reads this table: executors, the plan, the interfaces and
/// the tests. Source: Ma et al., J. Chem. Theory Comput. 7, 1316 (2011); NWChem's kernel numbers.
namespace trifuse {

enum class TermKind : std::uint8_t { singles, hole_doubles, particle_doubles };

/// Positions in a task: particles a, b, c and holes i, j, k are 0, 1, 2.
struct Term {
  TermKind kind;
  std::uint8_t number;    ///< 1..9, the number in NWChem's kernel name (s1_1 ... sd_t_d1_9)
  std::uint8_t particle;  ///< which of a, b, c is alone
  std::uint8_t hole;      ///< which of i, j, k is alone
  std::int8_t sign;
};

namespace detail {
inline constexpr int a = 0, b = 1, c = 2, i = 0, j = 1, k = 2;
}

inline constexpr std::array<Term, 27> terms = [] {
  using namespace detail;
  using enum TermKind;
  return std::array<Term, 27>{{
      {singles, 1, a, i, +1},          {singles, 2, a, j, -1},          {singles, 3, a, k, +1},
      {singles, 4, b, i, -1},          {singles, 5, b, j, +1},          {singles, 6, b, k, -1},
      {singles, 7, c, i, +1},          {singles, 8, c, j, -1},          {singles, 9, c, k, +1},
      {hole_doubles, 1, c, i, -1},     {hole_doubles, 2, c, j, +1},     {hole_doubles, 3, c, k, -1},
      {hole_doubles, 4, a, i, -1},     {hole_doubles, 5, a, j, +1},     {hole_doubles, 6, a, k, -1},
      {hole_doubles, 7, b, i, +1},     {hole_doubles, 8, b, j, -1},     {hole_doubles, 9, b, k, +1},
      {particle_doubles, 1, a, k, -1}, {particle_doubles, 2, a, i, -1}, {particle_doubles, 3, a, j, +1},
      {particle_doubles, 4, b, k, +1}, {particle_doubles, 5, b, i, +1}, {particle_doubles, 6, b, j, -1},
      {particle_doubles, 7, c, k, -1}, {particle_doubles, 8, c, i, -1}, {particle_doubles, 9, c, j, +1},
  }};
}();

/// The two positions left when one of 0, 1, 2 is taken, in ascending order.
constexpr std::array<int, 2> others(int alone) {
  return {alone == 0 ? 1 : 0, alone == 2 ? 1 : 2};
}

/// A product p|pp' h|hh' is antisymmetrised by this sign: the middle index costs an interchange.
constexpr int alone_sign(int particle, int hole) {
  return ((particle == 1) != (hole == 1)) ? -1 : +1;
}

static_assert(
    [] {
      for (const Term& term : terms) {
        const int sign = alone_sign(term.particle, term.hole);
        if (term.sign != (term.kind == TermKind::singles ? sign : -sign)) return false;
      }
      return true;
    }(),
    "the signs of the table must follow from the indices that are alone");

}  // namespace trifuse
