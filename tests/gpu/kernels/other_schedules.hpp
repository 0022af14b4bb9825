#pragma once

#include "cxx/cuda/kernel/launch.hpp"

/// Kernels with other schedules and another epilogue than those of the program.
namespace trifuse::gpu {

/// Kernels whose results are spin-orbital targets, see StoredTargets. Both have the ShuffledSchedule.
Kernel stored_targets_cooperative();
Kernel stored_targets_bulk();
/// A kernel like "fma-2x2x2", with the ReversedSchedule. It computes energies with equal left and right amplitudes.
Kernel reversed_energies();

}
