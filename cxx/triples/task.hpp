#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/tile_space.hpp"

namespace trifuse {

/// The two ways to write the same energy.
enum class SpinFormulation : std::uint8_t {
  spin_orbital,  ///< any reference: tasks are sextets of spin-orbital tiles
  spin_adapted,  ///< RHF only: tasks are sextets of alpha (that is, spatial) tiles; 2.25 times fewer operations
};

/// What is taken where nobody says otherwise.
inline SpinFormulation default_formulation(const TileSpace& orbitals) {
  return orbitals.restricted() ? SpinFormulation::spin_adapted : SpinFormulation::spin_orbital;
}

/// Terms of the disconnected triples of a task, each with a block of pairs.
constexpr int disconnected_terms(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted ? 18 : 9;
}

/// Spins of the excited electrons.
enum class SpinCase : std::uint8_t { aaa, aab, abb, bbb };

/// A sextet of tiles a <= b <= c (particles) and i <= j <= k (holes) whose block of triples does not vanish.
struct Task {
  std::array<int, 3> particles;  ///< tiles of a, b, c
  std::array<int, 3> holes;      ///< tiles of i, j, k
  /// Removes what full rectangular blocks count twice where tiles coincide: 1/6 for three equal tiles, 1/2 for two, for
  /// particles and for holes; times 2 in a restricted space in spin-orbital form, whose abb and bbb blocks are not
  /// visited.
  double factor;
  SpinCase spin_case;  ///< in spin-adapted form a task holds all spin cases, and this is aab
};

/// The energies of one task for one omega2, hartree. Same spin: aaa or bbb; mixed: aab or abb.
struct TaskEnergy {
  double e_bracket_t_same = 0.0;  ///< E[T]
  double e_paren_t_same = 0.0;    ///< E(T)
  double e_bracket_t_mixed = 0.0;
  double e_paren_t_mixed = 0.0;

  TaskEnergy& operator+=(const TaskEnergy& other) {
    e_bracket_t_same += other.e_bracket_t_same;
    e_paren_t_same += other.e_paren_t_same;
    e_bracket_t_mixed += other.e_bracket_t_mixed;
    e_paren_t_mixed += other.e_paren_t_mixed;
    return *this;
  }

  /// To be sent and added up with others.
  static constexpr std::size_t numbers = 4;
  std::array<double, numbers> as_numbers() const {
    return {e_bracket_t_same, e_paren_t_same, e_bracket_t_mixed, e_paren_t_mixed};
  }
  static TaskEnergy of_numbers(const double* n) { return {n[0], n[1], n[2], n[3]}; }
};

/// Whether the block of a sextet is spin-allowed, symmetry-allowed, kept in a restricted space, and not zero by
/// antisymmetry (two equal tiles of one orbital, three equal tiles of two).
bool task_exists(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
                 const std::array<int, 3>& holes);

Task make_task(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
               const std::array<int, 3>& holes);

/// All tasks in NWChem's loop order: a outermost, then b, c, i, j, k.
std::vector<Task> enumerate_tasks(const TileSpace& space, SpinFormulation formulation);

/// The tiles of a task as the tile numbers of `fine`, a space that `coarse.refined()` made: all tasks of `fine` that
/// lie inside the task of `coarse` and together have its energy.
std::vector<Task> refine_task(const TileSpace& coarse, const TileSpace& fine, SpinFormulation formulation,
                              const Task& task);

std::string to_string(SpinFormulation formulation);

}  // namespace trifuse
