#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/triples/task.hpp"

namespace trifuse {

/// One disconnected term resolved to memory; positions as in DisconnectedTerm.
struct SinglesTerm {
  int target;
  double sign;
  int particle, hole;
  std::array<int, 2> vvoo_particles, vvoo_holes;
  const double* t1_factor;        ///< first element of the tile pair in [orbitals, orbitals], particle fastest
  std::int64_t t1_factor_stride;  ///< between holes
  const double* vvoo;             ///< block [p', p, h', h], p' fastest
};

/// Runs of c stand in memory at multiples of full vectors; what lies between the extent of c and this is zero in
/// targets, and any readable number in the other arrays.
constexpr std::int64_t padded_run(std::int64_t n) {
  return (n + 7) / 8 * 8;
}

/// A task whose connected triples are complete. Targets are [c, b, a, k, j, i], c fastest and padded.
struct EnergyInput {
  int targets = 1;  ///< 1 (spin-orbital) or 6 (spin-adapted)
  std::array<const double*, 6> d_left{}, d_right{};
  std::array<std::int64_t, 6> extent{};   ///< a, b, c, i, j, k
  std::array<const double*, 6> eps{};     ///< energies of the orbitals of a, b, c, i, j, k
  std::array<bool, 2> equal_particles{};  ///< tiles a = b, b = c
  std::array<bool, 2> equal_holes{};      ///< tiles i = j, j = k
  std::vector<SinglesTerm> singles;
  double factor = 1.0;
  bool same_spin = false;  ///< spin-orbital form: the task is aaa or bbb
};

/// Sums a task's energies for every omega2.
void sum_energies(const EnergyInput& input, std::span<const double> omega2, std::span<TaskEnergy> energies);

}  // namespace trifuse
