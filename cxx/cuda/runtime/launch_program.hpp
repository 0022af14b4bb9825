#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// Several arrays in one stretch of memory.
struct ArraysInOne {
  std::size_t bytes = 0;
  /// Offset in bytes of an array of `count` numbers.
  template <typename T>
  std::size_t add(std::size_t count) {
    const std::size_t offset = bytes;
    bytes += (count * sizeof(T) + 255) / 256 * 256;
    return offset;
  }
};

/// What one launch computes, with pointers into the device's memory.
struct LaunchProgram {
  std::vector<TaskData> tasks;
  std::vector<Phase> phases;         ///< as in Work
  std::vector<const double*> pairs;  ///< as in Work
  std::vector<Item> items;
  void clear();
};

/// What whoever launches kernels, one after the other, keeps for them. Belongs to the current device.
struct LaunchBuffers {
  /// For `scratch` doubles that kernels put aside.
  explicit LaunchBuffers(std::int64_t scratch);

  Stream stream;
  Event kernel_begin, kernel_end;
  Event done{cudaEventDisableTiming | cudaEventBlockingSync};
  DeviceArray<double> scratch, item_sums, task_sums;
  DeviceArray<std::uint32_t> next_item;
  DeviceArray<char> device_program;
  PinnedArray<char> host_program;
  PinnedArray<double> host_sums;
  double seconds_waiting = 0.0;  ///< of the host
};

/// What a launch is told of the form, and of how many sides and sets of disconnected factors there are.
Work work_of(SpinFormulation formulation, int sides, int sets);

/// Sends a program, runs it after what the stream does, and waits. `work` has what the program does not say: energies,
/// omega2, lone factors and the numbers of the form. Returns the energies [sums of the form, omega2, task], good until
/// the next launch.
std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    bool two_sided, int multiprocessors, Work work, LaunchBuffers& buffers);

}  // namespace trifuse::gpu
