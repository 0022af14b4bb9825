#pragma once

#include "cxx/cuda/kernel/launch.hpp"

/// Kernels with operands in the precisions of float_slices.hpp.
namespace trifuse::gpu {

/// A kernel like "fma-2x2x2" that computes energies with equal left and right amplitudes. `Precision`: Fp32 or
/// TwoFloats.
template <typename Precision>
Kernel energies_in();

/// Packs a panel on the current device, like launch_packing(). `Precision`: Fp32 or TwoFloats.
template <typename Precision>
void pack_in(const Packing& packing, const double* raw, void* packed, cudaStream_t stream);

}
