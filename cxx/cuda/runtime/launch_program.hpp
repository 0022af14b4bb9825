#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"

namespace trifuse::gpu {

/// Sends several arrays to the device in one copy, which passes through pinned memory. Belongs to the current device.
class ArraysInOne {
 public:
  /// Adds an array. send() makes `pointer` point to its copy on the device; both must stay valid until then.
  template <typename T>
  void add(const std::vector<T>& array, const T*& pointer) {
    parts_.push_back({std::as_bytes(std::span(array)),
                      [&pointer](const std::byte* copy) { pointer = reinterpret_cast<const T*>(copy); }});
  }
  /// Puts the copy of the arrays on `stream`. They are valid on the device until the next call, before which the stream
  /// must have executed all work of this one.
  void send(cudaStream_t stream);

 private:
  struct Part {
    std::span<const std::byte> array;
    std::function<void(const std::byte* copy)> set_pointer;
  };
  std::vector<Part> parts_;
  PinnedArray<std::byte> host_;
  DeviceArray<std::byte> device_;
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
/// the numbers of base_parameters(); the program and the buffers provide the other members. Returns the energies [task,
/// omega2, sum] in hartree; the span is valid until the next launch with these buffers.
std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    bool two_sided, int multiprocessors, KernelParameters parameters,
                                    LaunchBuffers& buffers);

}
