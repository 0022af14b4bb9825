#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/arrays_in_one.hpp"
#include "cxx/cuda/runtime/device_derivatives.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// What one launch computes: arrays in host memory, whose pointers point into device memory. Shapes are those of
/// KernelParameters.
struct LaunchProgram {
  std::vector<TaskData> tasks;
  std::vector<KernelProduct> products;
  std::vector<const double*> vvoo;
  std::vector<CtaTile> cta_tiles;
  void clear();
};

/// The stream and the buffers of a worker that launches kernels one after the other. Belongs to the current device.
struct LaunchBuffers {
  /// `scratch`: doubles of scratch memory, see scratch_doubles().
  explicit LaunchBuffers(std::int64_t scratch);

  Event kernel_begin, kernel_end;
  Event done{cudaEventDisableTiming | cudaEventBlockingSync};
  DeviceArray<double> scratch, warp_sums, task_sums;
  DeviceArray<std::uint32_t> next_cta_tile;
  ArraysInOne program;
  PinnedArray<double> host_sums;
  double seconds_waiting = 0.0;  ///< time that the host has waited for the device so far
  Stream stream;                 ///< destroyed first, so that no work uses the memory
};

/// Returns parameters in which only those members are set that depend on the formulation, the number of sides and the
/// number of sets.
KernelParameters base_parameters(SpinFormulation formulation, int sides, int sets);

/// Sends a program to the device, runs it after the work that is already on the stream, and waits.
///
/// `multiprocessors`: number of multiprocessors of the device. `parameters`: orbital energies, omega2, t1, f_ov, and
/// the numbers of base_parameters(); the program and the buffers provide the other members. `backward`: the backward
/// pass of the tasks; null if there is none. Returns the energies [task,
/// omega2, sum] in hartree; the span is valid until the next launch with these buffers.
std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    EnergyKind kind, int multiprocessors, KernelParameters parameters,
                                    LaunchBuffers& buffers, BackwardLaunch* backward = nullptr);

}
