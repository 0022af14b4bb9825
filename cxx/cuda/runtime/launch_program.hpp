#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// Lays out several arrays in one allocation.
struct ArraysInOne {
  std::size_t bytes = 0;  ///< size of the allocation
  /// Appends an array of `count` elements and returns its offset in bytes, a multiple of 256.
  template <typename T>
  std::size_t add(std::size_t count) {
    const std::size_t offset = bytes;
    bytes += (count * sizeof(T) + 255) / 256 * 256;
    return offset;
  }
};

/// What one launch computes: arrays in host memory, whose pointers point into device memory. Shapes are those of
/// KernelParameters.
struct LaunchProgram {
  std::vector<TaskData> tasks;
  std::vector<KernelProduct> products;
  std::vector<const double*> vvoo;
  std::vector<CtaTile> cta_tiles;
  void clear();
};

/// The stream and the buffers of a worker that launches kernels one after the other. They belong to the current device.
struct LaunchBuffers {
  /// `scratch`: doubles of scratch memory, see scratch_doubles().
  explicit LaunchBuffers(std::int64_t scratch);

  Event kernel_begin, kernel_end;
  Event done{cudaEventDisableTiming | cudaEventBlockingSync};
  DeviceArray<double> scratch, warp_sums, task_sums;
  DeviceArray<std::uint32_t> next_cta_tile;
  DeviceArray<char> device_program;
  PinnedArray<char> host_program;
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
/// the numbers of base_parameters(); the program and the buffers provide the other members. Returns the energies [task,
/// omega2, sum] in hartree; the span is valid until the next launch with these buffers.
std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    bool two_sided, int multiprocessors, KernelParameters parameters,
                                    LaunchBuffers& buffers);

}
