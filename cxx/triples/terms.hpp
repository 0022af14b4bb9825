#pragma once

#include <array>
#include <cstdint>

/// The 27 terms of the spin-orbital triples correction.
///
/// T2 and V2 are antisymmetrised. In x[u,u',l,l'] u and u' are upper (bra) indices, l and l' lower (ket) indices. One
/// of the particles a, b, c is the lone particle p. The other two particles, in ascending order, are p' and p''.
/// Likewise, one of the holes i, j, k is the lone hole h, and the other two holes are h' and h''. Sums go over all
/// holes l and all particles d:
///
///     singles           S += sign *       t1[p,h]         v2[p',p'',h',h'']
///     hole doubles      D += sign * sum_l t2[p',p'',h,l]  v2[l,p,h',h'']
///     particle doubles  D += sign * sum_d t2[p,d,h',h'']  v2[p',p'',h,d]
///
/// The kind, the lone particle and the lone hole identify a term and determine its sign. Executors, the plan, the
/// interfaces and the tests all read this table. Source: Ma et al., J. Chem. Theory Comput. 7, 1316 (2011); the terms
/// have the numbers of NWChem's kernels.
namespace trifuse {

enum class TermKind : std::uint8_t { singles, hole_doubles, particle_doubles };

/// One term. Positions in a task: 0, 1, 2 are the particles a, b, c and the holes i, j, k.
struct Term {
  TermKind kind;
  std::uint8_t number;    ///< 1..9, number in the name of NWChem's kernel (s1_1 ... sd_t_d1_9)
  std::uint8_t particle;  ///< position of the lone particle
  std::uint8_t hole;      ///< position of the lone hole
  std::int8_t sign;       ///< +1 or -1
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

/// Returns the two positions of 0, 1, 2 other than `alone`, in ascending order.
constexpr std::array<int, 2> others(int alone) {
  return {alone == 0 ? 1 : 0, alone == 2 ? 1 : 2};
}

/// Returns the sign of the permutation that moves the lone particle and the lone hole in front of the two others: -1
/// for each lone index at position 1.
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

}
