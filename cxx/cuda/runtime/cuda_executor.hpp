#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/operands/panel_executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

struct CudaOptions {
  std::vector<int> devices = {0};      ///< as CUDA counts them
  std::int64_t memory_per_device = 0;  ///< bytes; 0: what is free, less a reserve
  std::string kernel;                  ///< name of a kernel configuration; empty: the best for the device and each task
  /// Where it is given, devices that fail the self-test are left out, and why is put here, as long as others pass it.
  std::vector<std::string>* left_out = nullptr;
};

/// What the devices did so far, all of them together.
struct CudaReport {
  struct Device {
    std::string name;
    double peak_share_rate = 0.0;  ///< FP64 matrix peak of the device, operations per second; 0 if not known
  };
  std::vector<Device> devices;
  struct Kernel {
    std::string name;
    std::int64_t items = 0;  ///< that it did
  };
  std::vector<Kernel> kernels;              ///< configurations of which one is chosen for each task
  std::int64_t panels_wanted = 0;           ///< panels that tasks asked for
  std::int64_t panels_sent = 0;             ///< of these, sent from the host
  std::int64_t panels_from_neighbours = 0;  ///< of these, copied from other GPUs
  std::int64_t panels_kept = 0;             ///< sent from the host before all tasks, for other GPUs, too
  std::int64_t panels_evicted = 0;          ///< dropped to make room
  std::int64_t bytes_sent = 0;              ///< host to device
  std::int64_t bytes_from_neighbours = 0;   ///< from other GPUs
  std::int64_t bytes_resident = 0;          ///< largest amount of panels on one device
  std::int64_t memory_budget = 0;           ///< bytes per device
  double seconds_kernels = 0.0;             ///< on the device, summed over devices
  double seconds_copies = 0.0;              ///< on the device, copies and packing, summed over devices
  double seconds_waiting = 0.0;             ///< host threads waiting for devices
  double seconds_preparing = 0.0;           ///< host threads preparing work
  std::int64_t launches = 0;
};

/// Executes tasks on GPUs; several workers for each, so that tasks are prepared and sent while those of another run.
class CudaExecutor : public PanelExecutor {
 public:
  virtual CudaReport report() const = 0;
};

/// Operands are read from the sources once, here. A small task is computed on each device and compared with the CPU
/// executor first. Throws UsageError for a device or kernel that does not exist, DeviceError when a device fails or
/// gives wrong numbers, which workers throw, too.
std::unique_ptr<CudaExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                 const CudaOptions& options);
/// The same without operands, for those who share them with others.
std::unique_ptr<CudaExecutor> prepare_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                    const CudaOptions& options);

}  // namespace trifuse
