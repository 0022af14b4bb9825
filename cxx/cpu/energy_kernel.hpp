#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cpu/scatter.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

struct TripleDenominators;  // triple_denominators.hpp

/// A disconnected term of a task with the addresses of its two tensors. Positions are those of DisconnectedTerm. f_ov
/// may stand for t1, and t2 for the integrals, see DisconnectedSet.
struct SinglesTerm {
  int target;
  double sign;
  int particle, hole;
  std::array<int, 2> vvoo_particles, vvoo_holes;
  const double* ov_tensor;        ///< ov tensor [h,p] on the term's tiles, part of an array over all orbitals
  std::int64_t ov_tensor_stride;  ///< doubles from one h to the next
  const double* vvoo;             ///< block vvoo[h',h'',p',p''] on the term's tiles
};

/// The triples of a left side of a task.
struct LeftTriples {
  std::array<const double*, 6> d{};  ///< targets
  std::vector<SinglesTerm> singles;  ///< terms of S
};

/// A task whose connected triples are complete. A target is an array [i,j,k,a,b,c] whose rows of c have padded length,
/// see row_length(). If tiles are equal, it may be another target with i, j, k or a, b exchanged. The elements behind
/// the end of a row are zero in targets. In other arrays they may be any readable numbers.
struct EnergyInput {
  int targets = 1;  ///< 1 (spin-orbital) or 6 (spin-adapted)
  int left_sides = 1;
  std::array<LeftTriples, max_left_sides> left{};    ///< [left side]
  std::array<const double*, 6> d_right{};            ///< targets of the right side
  std::array<Six, 6> step{};                         ///< [target] doubles from one a, b, c, i, j, k to the next; c: 1
  std::array<std::int64_t, 6> extent{};              ///< extents of a, b, c, i, j, k
  std::array<const double*, 6> eps{};                ///< orbital energies of a, b, c, i, j, k, hartree
  std::array<bool, 2> equal_particles{};             ///< true for equal tiles: a = b, b = c
  std::array<bool, 2> equal_holes{};                 ///< true for equal tiles: i = j, j = k
  std::vector<SinglesTerm> c3;                       ///< terms of C3
  const TripleDenominators* denominators = nullptr;  ///< tables; null: no quotient has them
  std::array<std::int64_t, 6> first{};               ///< first orbitals of a, b, c, i, j, k in the tables
  double weight = 1.0;                               ///< weight of the task
  bool same_spin = false;                            ///< spin-orbital formulation: true for a task aaa or bbb
};

/// Computes the energies of a task with one left side for each omega2. Overwrites energies[omega2], hartree. Of the
/// elements with the same orbitals in another order, which tasks with equal tiles have and whose energies are equal, it
/// reads one.
void sum_energies(const EnergyInput& input, std::span<const double> omega2, std::span<TaskEnergy> energies);

}
