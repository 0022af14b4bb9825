#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cxx/triples/method.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/task.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The operands of one side, without the sets of disconnected triples, which the method describes.
///
///     D: amplitudes t2; integrals <p'p''||h d> and <l p||h'h''>, which are blocks v2[p',p'',h,d] and v2[l,p,h',h'']
///
///     S, left sides only: amplitudes t1 and t2; integrals <p'p''||h'h''>; Fock matrix
///
/// Panels of a side contain these numbers as the blocks deliver them. In the spin-adapted formulation <p'p''||h d> is
/// (p' h|p'' d) and <l p||h'h''> is (l h'|p h''). No symmetry between p'' and d, or between l and h', is used, so
/// integrals that are dressed with amplitudes can take the place of bare ones.
struct OperandSet {
  const TileSource* amplitudes;
  const TileSource* integrals;
};

/// A left side besides the first one.
struct LeftSide {
  const TileSource* amplitudes = nullptr;  ///< null: the right ones
  const TileSource* integrals = nullptr;   ///< integrals and Fock matrix; null: those of the right side
  Method method = ccsd_t;                  ///< says what S is
};

/// A set of disconnected triples with the sources of its tensors.
struct SetOperands {
  DisconnectedSet set;
  OperandSet operands;
};

/// The energies that are to be computed. For each quotient
///
///     E[T] = sum f  D_left           Y / x
///     E(T) = sum f (D_left + S_left) Y / x
///
/// where Y is D_right and x is Delta - 3 omega2, Delta = e_i + e_j + e_k - e_a - e_b - e_c, unless the quotient says
/// otherwise. The sums go over all elements of all tasks of a tile space; f is the weight of the task. Both sides have
/// the same operands unless `left` is given (two-sided Reg-CCSD(T), Lambda-CCSD(T)) or `left_integrals` (moments of
/// CCSD). With `second_left` each quotient names its left side, and all share the right one. The sources must outlive
/// the problem. They must have the same orbitals; their tiles may differ.
struct Problem {
  const TileSource* right = nullptr;  ///< right amplitudes and integrals; orbital energies of both sides
  const TileSource* left = nullptr;   ///< left amplitudes; null: the right ones
  /// Integrals and Fock matrix of the left side; null: those of `right`. If it is given, no source may have factors.
  const TileSource* left_integrals = nullptr;
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  std::vector<Quotient> quotients = {0.0};
  Method method = ccsd_t;  ///< says what S is
  /// Another left side; nullopt: there is at most one. If it is given, no source may have factors.
  std::optional<LeftSide> second_left = {};
  /// A source of t1 and, as its t2, of c2, whose disconnected triples are C3; null: no quotient has C3.
  const TileSource* disconnected = nullptr;
  /// The tables of denominators over the orbitals of the sources; null: no quotient has them.
  const TripleDenominators* denominators = nullptr;
  /// Derivatives of E(T) of the first quotient, which must be a shift. Other than `none` only for one quotient and
  /// sides with the same integrals.
  Derivatives derivatives = Derivatives::none;

  /// Quotients other than shifts are computed with two sides, also if these have the same operands.
  bool two_sided() const { return left != nullptr || left_integrals != nullptr || second_left || !has_shifts_only(); }
  /// Returns the number of left sides, also if the only one has the operands of the right side.
  int left_sides() const { return second_left ? 2 : 1; }
  int sides() const { return two_sided() ? 1 + left_sides() : 1; }
  /// Returns the operands of a side. A problem with one side has the same ones on the left.
  OperandSet operands(Side side) const {
    if (side == Side::right) return {right, right};
    const auto [amplitudes, integrals] = side == Side::left
                                             ? OperandSet{left, left_integrals}
                                             : OperandSet{second_left->amplitudes, second_left->integrals};
    return {amplitudes != nullptr ? amplitudes : right, integrals != nullptr ? integrals : right};
  }
  /// Returns the method whose sets make up S of a left side. `n`: number of the left side.
  const Method& method_of(int n) const { return n == 0 ? method : second_left->method; }
  /// Returns true if a method needs the Fock matrix.
  bool needs_fock() const { return method.needs_fock() || (second_left && second_left->method.needs_fock()); }
  /// Returns true if there are at most two sides with the same integrals, so that these need not be stored twice.
  bool shares_integrals() const { return left_integrals == nullptr && !second_left; }
  /// Returns true if there are two sides that have the same integrals.
  bool joins_sides() const { return two_sided() && shares_integrals(); }
  /// Returns the number of targets of a task, for all sides together (see contraction_list.hpp).
  int targets() const { return targets_per_side(formulation) * sides(); }
  /// Returns true if all right factors are D_right and all denominators are Delta - 3 omega2.
  bool has_shifts_only() const {
    return std::all_of(quotients.begin(), quotients.end(), [](const Quotient& x) { return x == Quotient(x.omega2); });
  }
  bool has_right_factor(RightFactor factor) const {
    return std::any_of(quotients.begin(), quotients.end(), [&](const Quotient& x) { return x.right == factor; });
  }
  /// Throws std::logic_error if a quotient needs `disconnected`, `denominators` or `second_left`, which is not given.
  void require_operands_of_quotients() const {
    if (disconnected == nullptr && has_right_factor(RightFactor::disconnected))
      throw std::logic_error("A quotient has the right factor C3; give Problem::disconnected.");
    const bool tables =
        std::any_of(quotients.begin(), quotients.end(), [](const Quotient& x) { return x.of_tables(); });
    if (denominators == nullptr && tables)
      throw std::logic_error("A quotient has a denominator of tables; give Problem::denominators.");
    const bool wrong_side = std::any_of(quotients.begin(), quotients.end(), [&](const Quotient& x) {
      return x.left != Side::left && (x.left != Side::second_left || !second_left);
    });
    if (wrong_side) throw std::logic_error("A quotient has a left side that is not there; give Problem::second_left.");
  }
  /// Returns the omega2 of each quotient, hartree.
  std::vector<double> omega2() const {
    std::vector<double> values;
    for (const Quotient& quotient : quotients) values.push_back(quotient.omega2);
    return values;
  }
  /// Returns the number of the set after those of S of a left side. `n`: number of the left side. The sets of the next
  /// left side, and then that of C3, follow.
  int sets_end(int n) const {
    int end = 0;
    for (int side = 0; side <= n; ++side) end += static_cast<int>(method_of(side).sets().size());
    return end;
  }
  /// Returns the number of all sets: those of S of all left sides, and one for C3.
  int disconnected_sets() const { return sets_end(left_sides() - 1) + (disconnected != nullptr ? 1 : 0); }
  /// Returns the number of the left side to which a set belongs; the number of left sides for C3. `set`: its number.
  int left_side_of(int set) const {
    int n = 0;
    while (n < left_sides() && set >= sets_end(n)) ++n;
    return n;
  }
  /// Returns a set and the sources of its tensors. `set`: its number.
  SetOperands disconnected_set(int set) const {
    const int n = left_side_of(set);
    if (n == left_sides()) return {{OvTensor::t1, VvooTensor::t2}, {disconnected, disconnected}};
    const int first = n == 0 ? 0 : sets_end(n - 1);
    return {method_of(n).sets()[static_cast<std::size_t>(set - first)], operands(left_side(n))};
  }
  /// Returns all sets: those of S of all left sides, and that of C3.
  std::vector<DisconnectedSet> sets() const {
    std::vector<DisconnectedSet> all;
    for (int n = 0; n < disconnected_sets(); ++n) all.push_back(disconnected_set(n).set);
    return all;
  }
};

}

#pragma GCC visibility pop
