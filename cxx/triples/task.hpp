#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/tile_space.hpp"

namespace trifuse {

/// The two spin formulations of the same energy.
enum class SpinFormulation : std::uint8_t {
  spin_orbital,  ///< for any reference; tasks are sextets of spin-orbital tiles
  spin_adapted,  ///< for RHF only; tasks are sextets of alpha (= spatial) tiles; 2.25 times fewer operations
};

/// The formulation that a run uses if the user chooses none.
inline SpinFormulation default_formulation(const TileSpace& orbitals) {
  return orbitals.restricted() ? SpinFormulation::spin_adapted : SpinFormulation::spin_orbital;
}

/// Spins of the three excited electrons, a = alpha, b = beta.
enum class SpinCase : std::uint8_t { aaa, aab, abb, bbb };

/// A sextet of tiles a <= b <= c (particles) and i <= j <= k (holes) whose block of triples is not zero.
struct Task {
  std::array<int, 3> particles;  ///< tiles of a, b, c
  std::array<int, 3> holes;      ///< tiles of i, j, k
  /// Factor of the task's energies, a product of three factors. The first is 1/6 for three equal particle tiles, 1/2
  /// for two, else 1, because the block of equal tiles contains each excitation several times. The second is the same
  /// for holes. The third is 2 in the spin-orbital formulation of a restricted space, which has no tasks abb and bbb,
  /// else 1.
  double factor;
  SpinCase spin_case;  ///< aab in the spin-adapted formulation, although such a task contains all spin cases
};

/// The energies of one task for one omega2, hartree. `same`: spin cases aaa and bbb. `mixed`: aab and abb.
struct TaskEnergy {
  double e_bracket_t_same = 0.0;   ///< E[T]
  double e_paren_t_same = 0.0;     ///< E(T)
  double e_bracket_t_mixed = 0.0;  ///< E[T]
  double e_paren_t_mixed = 0.0;    ///< E(T)

  TaskEnergy& operator+=(const TaskEnergy& other) {
    e_bracket_t_same += other.e_bracket_t_same;
    e_paren_t_same += other.e_paren_t_same;
    e_bracket_t_mixed += other.e_bracket_t_mixed;
    e_paren_t_mixed += other.e_paren_t_mixed;
    return *this;
  }

  /// The energies as plain numbers, for messages and files.
  static constexpr std::size_t numbers = 4;
  std::array<double, numbers> as_numbers() const {
    return {e_bracket_t_same, e_paren_t_same, e_bracket_t_mixed, e_paren_t_mixed};
  }
  static TaskEnergy of_numbers(const double* n) { return {n[0], n[1], n[2], n[3]}; }
};

/// True if a sextet of tiles is a task: its block is allowed by spin and by symmetry, is not zero by antisymmetry (two
/// equal tiles of one orbital, three equal tiles of two orbitals), and is not left out in a restricted space.
/// `particles`, `holes`: tiles of a, b, c and of i, j, k, ascending.
bool task_exists(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
                 const std::array<int, 3>& holes);

/// The task of a sextet for which `task_exists` is true.
Task make_task(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
               const std::array<int, 3>& holes);

/// All tasks of a space in NWChem's loop order: a is the outermost loop, then b, c, i, j, k.
std::vector<Task> enumerate_tasks(const TileSpace& space, SpinFormulation formulation);

/// Divides a task of `coarse` into tasks of `fine`. The sum of their energies is the energy of the task. `fine` must be
/// a result of `coarse.refined()`.
std::vector<Task> refine_task(const TileSpace& coarse, const TileSpace& fine, SpinFormulation formulation,
                              const Task& task);

/// "spin-orbital" or "spin-adapted".
std::string to_string(SpinFormulation formulation);

}  // namespace trifuse
