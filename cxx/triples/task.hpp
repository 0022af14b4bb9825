#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The two spin formulations of the same energy.
enum class SpinFormulation : std::uint8_t {
  spin_orbital,  ///< for any reference; tasks are sextets of spin-orbital tiles
  spin_adapted,  ///< for RHF only; tasks are sextets of alpha tiles; 2.25 times fewer operations
};

/// Returns the formulation that a run uses if the user chooses none.
inline SpinFormulation default_formulation(const TileSpace& orbitals) {
  return orbitals.restricted() ? SpinFormulation::spin_adapted : SpinFormulation::spin_orbital;
}

/// The derivatives of E(T) that a run computes besides its energies.
enum class Derivatives : std::uint8_t {
  none,
  amplitudes,  ///< by t1, t2, f_ov, <pp||hh>, the orbital energies and omega2
  all,         ///< also by <pp||hp> and <hp||hh>: twice the matrix products
};

/// Spins of the three excited electrons, a = alpha, b = beta.
enum class SpinCase : std::uint8_t { aaa, aab, abb, bbb };

/// A sextet of tiles a <= b <= c (particles) and i <= j <= k (holes) whose block of triples is not zero.
struct Task {
  std::array<int, 3> particles;  ///< tiles of a, b, c
  std::array<int, 3> holes;      ///< tiles of i, j, k
  /// The weight of the task: its energies are multiplied by this number. It is a product of three numbers. The first is
  /// 1/6 if three particle tiles are equal, 1/2 if two are equal, and else 1, because a block on equal tiles contains
  /// each excitation several times. The second is the same for holes. The third is 2 for spin orbitals of a restricted
  /// space, which has no tasks abb and bbb, and else 1.
  double weight;
  SpinCase spin_case;  ///< aab in the spin-adapted formulation, although such a task contains all spin cases
};

/// The energies that executors sum for each omega2, hartree. energy.hpp has their formulas. The last member is the
/// correction of the method.
struct Energies {
  double e_bracket_t = 0.0;  ///< E[T]
  double e_paren_t = 0.0;    ///< E(T)

  /// Number of energies.
  static constexpr std::size_t count = 2;
  /// Names in reports, in the order of the members.
  static constexpr std::array<const char*, count> names = {"E[T]", "E(T)"};

  /// Returns the energies as values[count], in the order of the members.
  constexpr std::array<double, count> values() const { return {e_bracket_t, e_paren_t}; }
  static constexpr Energies of_values(const double* values) { return {values[0], values[1]}; }

  constexpr Energies& operator+=(const Energies& other) {
    e_bracket_t += other.e_bracket_t;
    e_paren_t += other.e_paren_t;
    return *this;
  }
  constexpr Energies& operator-=(const Energies& other) {
    e_bracket_t -= other.e_bracket_t;
    e_paren_t -= other.e_paren_t;
    return *this;
  }
  constexpr Energies& operator*=(double factor) {
    e_bracket_t *= factor;
    e_paren_t *= factor;
    return *this;
  }
  friend constexpr Energies operator+(Energies one, const Energies& other) { return one += other; }
  friend constexpr Energies operator-(Energies one, const Energies& other) { return one -= other; }
  friend constexpr Energies operator*(double factor, Energies energies) { return energies *= factor; }
};
static_assert(sizeof(Energies) == Energies::count * sizeof(double), "every member must be counted");

/// The energies of one task for one omega2.
struct TaskEnergy {
  Energies same;   ///< spin cases aaa and bbb
  Energies mixed;  ///< spin cases aab and abb

  TaskEnergy& operator+=(const TaskEnergy& other) {
    same += other.same;
    mixed += other.mixed;
    return *this;
  }

  /// The energies as plain numbers, for messages and files: the values of `same`, then those of `mixed`.
  static constexpr std::size_t numbers = 2 * Energies::count;
  std::array<double, numbers> as_numbers() const {
    std::array<double, numbers> all{};
    const auto of_same = same.values(), of_mixed = mixed.values();
    std::copy(of_mixed.begin(), of_mixed.end(), std::copy(of_same.begin(), of_same.end(), all.begin()));
    return all;
  }
  static TaskEnergy of_numbers(const double* values) {
    return {Energies::of_values(values), Energies::of_values(values + Energies::count)};
  }
};

/// Returns true if a sextet of tiles is a task. Spin and symmetry must allow its block, and a restricted space must not
/// leave it out. In the spin-orbital formulation no triple exists if two tiles of a kind are the same tile with one
/// orbital, or three are the same tile with two. In the spin-adapted formulation none exists if three are the same tile
/// with one orbital. `particles`, `holes`: tiles of a, b, c and of i, j, k, ascending.
bool task_exists(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
                 const std::array<int, 3>& holes);

/// Returns the task of a sextet for which `task_exists` is true.
Task make_task(const TileSpace& space, SpinFormulation formulation, const std::array<int, 3>& particles,
               const std::array<int, 3>& holes);

/// Returns all tasks of a space in NWChem's loop order: a is the outermost loop, then b, c, i, j, k.
std::vector<Task> enumerate_tasks(const TileSpace& space, SpinFormulation formulation);

/// Divides a task of `coarse` into tasks of `fine` and returns them. The sum of their energies is the energy of the
/// task. `fine` must be a result of `coarse.refined()`.
std::vector<Task> refine_task(const TileSpace& coarse, const TileSpace& fine, SpinFormulation formulation,
                              const Task& task);

/// Returns "spin-orbital" or "spin-adapted".
std::string to_string(SpinFormulation formulation);

}

#pragma GCC visibility pop
