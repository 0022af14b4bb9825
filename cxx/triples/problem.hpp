#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/triples/method.hpp"
#include "cxx/triples/task.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The sides of the energy sum. A problem whose sides have the same operands has only the right side.
enum class Side : std::uint8_t { right, left };

/// The operands of one side, without the sets of disconnected triples, which the method describes.
///
///     D: amplitudes t2; integrals <p'p''||h d> and <l p||h'h''>, which are blocks v2[p',p'',h,d] and v2[l,p,h',h'']
///
///     S, left side only: amplitudes t1 and t2; integrals <p'p''||h'h''>; Fock matrix
///
/// Panels of a side contain these numbers as the blocks deliver them. In the spin-adapted formulation <p'p''||h d> is
/// (p' h|p'' d) and <l p||h'h''> is (l h'|p h''). No symmetry between p'' and d, or between l and h', is used, so
/// integrals that are dressed with amplitudes can take the place of bare ones.
struct OperandSet {
  const TileSource* amplitudes;
  const TileSource* integrals;
};

/// The energies that are to be computed. For each omega2
///
///     E[T] = sum f  D_left           D_right / (Delta - 3 omega2)
///     E(T) = sum f (D_left + S_left) D_right / (Delta - 3 omega2)      Delta = e_i + e_j + e_k - e_a - e_b - e_c
///
/// The sums go over all elements of all tasks of a tile space; f is the weight of the task. Both sides have the same
/// operands unless `left` is given (two-sided Reg-CCSD(T), Lambda-CCSD(T)) or `left_integrals` (moments of CCSD). The
/// sources must outlive the problem. They must have the same orbitals; their tiles may differ.
struct Problem {
  const TileSource* right = nullptr;  ///< right amplitudes and integrals; orbital energies of both sides
  const TileSource* left = nullptr;   ///< left amplitudes; null: the right ones
  /// Integrals and Fock matrix of the left side; null: those of `right`. If it is given, no source may have factors.
  const TileSource* left_integrals = nullptr;
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  std::vector<double> omega2 = {0.0};  ///< hartree
  Method method = ccsd_t;              ///< says what S is

  bool two_sided() const { return left != nullptr || left_integrals != nullptr; }
  int sides() const { return two_sided() ? 2 : 1; }
  /// Returns the operands of a side. A problem with one side has the same ones on the left.
  OperandSet operands(Side side) const {
    if (side == Side::right) return {right, right};
    return {left != nullptr ? left : right, left_integrals != nullptr ? left_integrals : right};
  }
  /// Returns true if both sides have the same integrals, so that these need not be stored twice.
  bool shares_integrals() const { return left_integrals == nullptr; }
  /// Returns true if there are two sides that have the same integrals.
  bool joins_sides() const { return two_sided() && shares_integrals(); }
  /// Returns the number of targets of a task, for both sides together (see contraction_list.hpp).
  int targets() const { return targets_per_side(formulation) * sides(); }
  /// Returns the number of sets whose contributions make up S.
  int disconnected_sets() const { return static_cast<int>(method.sets().size()); }
};

}

#pragma GCC visibility pop
