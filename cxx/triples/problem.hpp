#pragma once

#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// What is to be computed: for each omega2
///
///     E[T] = sum f  D_left        D_right / (Delta - 3 omega2)
///     E(T) = sum f (D_left + S_left) D_right / (Delta - 3 omega2)      Delta = e_i + e_j + e_k - e_a - e_b - e_c
///
/// over the tasks of a tile space. Left and right are the same amplitudes unless `left` is given (two-sided
/// Reg-CCSD(T), Lambda-CCSD(T)). The sources must outlive the problem, and their orbitals must be the same, though
/// their tiles may differ.
struct Problem {
  const TileSource* right = nullptr;  ///< amplitudes on the right, integrals and orbital energies of both sides
  const TileSource* left = nullptr;   ///< amplitudes on the left, or null for those on the right
  SpinFormulation formulation = SpinFormulation::spin_orbital;
  std::vector<double> omega2 = {0.0};
  /// Adds f_ov t2 to S: the standard (T) of a semicanonical ROHF reference, and of orbitals that are not quite
  /// converged.
  bool fock_in_singles = false;

  const TileSource& left_source() const { return left != nullptr ? *left : *right; }
  bool two_sided() const { return left != nullptr; }
  int sides() const { return two_sided() ? 2 : 1; }
  /// Six-index targets of a task, of both sides.
  int targets() const { return (formulation == SpinFormulation::spin_adapted ? 6 : 1) * sides(); }
};

}  // namespace trifuse
