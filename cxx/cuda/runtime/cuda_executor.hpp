#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/operands/panel_executor.hpp"
#include "cxx/triples/problem.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

enum class Precision : std::uint8_t;  // cxx/triples/precision.hpp

struct CudaOptions {
  std::vector<int> devices = {0};      ///< numbers of the GPUs, as CUDA counts them
  std::int64_t memory_per_device = 0;  ///< bytes; 0: the free memory, less a reserve
  Precision precision{};               ///< precision of the kernels; by default Precision::fp64
  std::string kernel;                  ///< name of a kernel configuration; empty: the best for the device and each task
  /// If not null, devices that fail the self-test are left out as long as another device passes, and the reasons are
  /// appended here. If null, a device that fails the self-test is an error.
  std::vector<std::string>* left_out = nullptr;
  /// True: the run waits until its memory is free beside other runs of this process. False for one of several ranks,
  /// because ranks that are threads of one process would wait for each other.
  bool waits_for_memory = true;
  /// If it becomes true, this wait ends with Interrupted. May be null.
  const std::atomic<bool>* stop = nullptr;
};

/// Makes an executor that computes on GPUs, and reads its operands from the sources of `problem`. Each GPU has several
/// workers, so that one task is prepared and sent while another one runs. `tiles`: the orbital tiles of the tasks.
///
/// First, each device computes a small molecule, and the result is compared with that of the CPU executor, unless
/// test_cuda_devices() has done so. Throws UsageError if a device or kernel does not exist, or if no task fits into the
/// memory. Throws DeviceError if a device fails or gives wrong numbers. The workers of the executor throw DeviceError,
/// too.
std::unique_ptr<PanelExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                  const CudaOptions& options);
/// Makes an executor without operands. The caller provides the operands with take_panels().
std::unique_ptr<PanelExecutor> prepare_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                     const CudaOptions& options);

/// Returns the tiles that the panels of such an executor will have. A caller can read them before CUDA has started,
/// when the free memory is not known. Returns nullopt if the tiles are not nearly certain, or if the executor may read
/// the sources itself. The panels may get smaller tiles all the same, if other programs use most of the memory.
std::optional<TileSpace> likely_panel_tiles(const Problem& problem, const TileSpace& tiles, const CudaOptions& options);

/// Starts CUDA on the devices of `options` and compares each with the CPU executor, all devices at the same time. A
/// program can do this, on another thread, while it reads its input. `formulation`: the form of the run. Throws as
/// make_cuda_executor(), which tests again what has failed here.
void test_cuda_devices(SpinFormulation formulation, const CudaOptions& options);

}

#pragma GCC visibility pop
