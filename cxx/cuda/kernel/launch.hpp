#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/cuda/schedule/split_half_units.hpp"
#include "cxx/triples/task.hpp"

/// The compiled kernels, without their template parameters.
namespace trifuse::gpu {

/// Memory of a CTA.
struct CtaMemory {
  int dynamic_shared;  ///< bytes of shared memory that the launch asks for
  int static_shared;   ///< bytes of other shared memory
};

struct Kernel {
  std::string family;       ///< staging and instruction, e.g. "bulk-m16n8k8"; its kernels have one operand format
  std::string name;         ///< family and warp tile, e.g. "bulk-m16n8k8-4x4x2"
  int architecture;         ///< least compute capability, e.g. 900 for 9.0
  bool exact_architecture;  ///< true if the machine code runs on this compute capability only
  Shape shape;
  int threads;  ///< number of threads of a CTA
  CtaMemory spin_orbital, spin_adapted;
  CtaMemory spin_orbital_of_three_sides, spin_adapted_of_three_sides;
  /// Returns the device function.
  const void* (*function)(SpinFormulation formulation, EnergyKind kind);

  /// Returns the precision of the kernel's operands, as users name it.
  Precision precision() const { return precision_of(shape.format); }
  const CtaMemory& memory(SpinFormulation formulation, EnergyKind kind) const {
    const bool three = kind == EnergyKind::quotients_of_three_sides;
    if (formulation == SpinFormulation::spin_adapted) return three ? spin_adapted_of_three_sides : spin_adapted;
    return three ? spin_orbital_of_three_sides : spin_orbital;
  }
};

/// Returns the kernel of a configuration, see launch_shapes.hpp. Each kernel is instantiated in a file of its own.
template <typename Config>
Kernel kernel_of();

/// Returns all kernels: first the kernels in double precision, then the kernels in mixed precision. In each of these
/// two groups the best kernel comes first.
std::span<const Kernel> kernels();

/// Returns true if a device can run the kernel. `capability`: compute capability, e.g. 900 for 9.0. `shared_bytes`:
/// largest shared memory of a CTA, bytes.
bool runs_on(const Kernel& kernel, int capability, int shared_bytes);

/// Sets the limit of the kernel's dynamic shared memory on the current device. Call it once before the first launch.
void set_dynamic_shared_limit(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind);
/// Launches the kernel on the current device. `grid`: number of CTAs.
void launch(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind, int grid,
            const KernelParameters& parameters, cudaStream_t stream);

/// Resources that a compiled kernel needs for each thread.
struct KernelResources {
  int registers;
  std::int64_t local_bytes;  ///< local memory, into which registers are spilled
};
KernelResources resources(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind);

/// Adds up the energies of each task over its CTA tiles and warps, always in the same order. Resets the counter of CTA
/// tiles to 0 for the next launch. `tasks`: the tasks of the launch. `out`: [task, omega2, sum] in device memory,
/// hartree.
void launch_task_sums(const KernelParameters& parameters, SpinFormulation formulation, std::span<const TaskData> tasks,
                      double* out, cudaStream_t stream);

/// Packs the part of a panel that `raw` contains, see Packing. `format`: format of the packed panel, as in its
/// PanelName. `packed`: begin of the whole packed panel. `raw` and `packed` lie in device memory. Throws Error if no
/// kernel reads this format.
void launch_packing(const Packing& packing, const OperandFormat& format, const double* raw, void* packed,
                    cudaStream_t stream);

}
