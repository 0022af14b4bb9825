#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cpu/energy_kernel.hpp"

namespace trifuse {

/// Derivatives of the energy of a task by the tensors of a disconnected term. Rows of the last index have padded
/// length.
struct SinglesSums {
  double* ov_tensor;  ///< [h,p], see SinglesTerm
  double* vvoo;       ///< [h',h'',p',p'']
};

/// Where the derivatives of a task by its amplitudes and denominators go.
struct SeedOutput {
  /// The targets of EnergyInput, which are overwritten with the seeds of D_left and D_right. If both sides have the
  /// same targets, these receive the sum.
  std::array<double*, 6> left{}, right{};
  std::vector<SinglesSums> singles;        ///< [term of EnergyInput::singles]; the kernel adds to them
  std::array<std::span<double>, 6> eps{};  ///< of a, b, c, i, j, k, each of padded length; the kernel adds to them
  double omega2 = 0.0;                     ///< the kernel adds to it
};

/// Computes the seeds of E(T) of a task for one omega2, hartree, and reduces those of S and of the denominators.
/// `input`: the same as for sum_energies(); its c3 are not read.
void compute_seeds(const EnergyInput& input, double omega2, SeedOutput& output);

}
