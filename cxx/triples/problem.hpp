#pragma once

#include <vector>

#include "cxx/triples/method.hpp"
#include "cxx/triples/task.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The energies that are to be computed. For each omega2
///
///     E[T] = sum f  D_left           D_right / (Delta - 3 omega2)
///     E(T) = sum f (D_left + S_left) D_right / (Delta - 3 omega2)      Delta = e_i + e_j + e_k - e_a - e_b - e_c
///
/// The sums go over all elements of all tasks of a tile space; f is the weight of the task. Left and right amplitudes
/// are the same unless `left` is given (two-sided Reg-CCSD(T), Lambda-CCSD(T)). The sources must outlive the problem.
/// They must have the same orbitals; their tiles may differ.
struct Problem {
  const TileSource* right =
      nullptr;                       ///< has the right amplitudes, and the integrals and orbital energies of both sides
  const TileSource* left = nullptr;  ///< has the left amplitudes; null: they are the right amplitudes
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  std::vector<double> omega2 = {0.0};  ///< hartree
  Method method = ccsd_t;              ///< says what S is

  const TileSource& left_source() const { return left != nullptr ? *left : *right; }
  bool two_sided() const { return left != nullptr; }
  int sides() const { return two_sided() ? 2 : 1; }
  /// Returns the number of targets of a task, for both sides together (see contraction_list.hpp).
  int targets() const { return targets_per_side(formulation) * sides(); }
  /// Returns the number of sets whose contributions make up S.
  int disconnected_sets() const { return static_cast<int>(method.sets().size()); }
};

}

#pragma GCC visibility pop
