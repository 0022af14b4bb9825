#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/operands/panel_executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

struct CudaOptions {
  std::vector<int> devices = {0};      ///< numbers, as CUDA counts them
  std::int64_t memory_per_device = 0;  ///< bytes; 0: the free memory, less a reserve
  std::string kernel;                  ///< name of a kernel configuration; empty: the best for the device and each task
  /// If not null, devices that fail the self-test are left out as long as another one passes, and the reasons are
  /// appended here. If null, a device that fails the self-test is an error.
  std::vector<std::string>* left_out = nullptr;
};

/// What all devices together did so far.
struct CudaReport {
  struct Device {
    std::string name;
    double peak_share_rate = 0.0;  ///< FP64 matrix peak of the device, operations per second; 0 if not known
  };
  std::vector<Device> devices;
  struct Kernel {
    std::string name;
    std::int64_t cta_tiles = 0;  ///< CTA tiles that it computed
  };
  std::vector<Kernel> kernels;         ///< candidates, of which one is chosen for each task
  std::int64_t panels_wanted = 0;      ///< panels that tasks acquired
  std::int64_t panels_sent = 0;        ///< of these, sent from the host
  std::int64_t panels_from_peers = 0;  ///< of these, copied from other GPUs
  std::int64_t panels_owned = 0;       ///< sent from the host before all tasks, and kept for other GPUs, too
  std::int64_t panels_evicted = 0;     ///< dropped to make room
  std::int64_t bytes_sent = 0;         ///< host to device
  std::int64_t bytes_from_peers = 0;   ///< copied from other GPUs
  std::int64_t bytes_resident = 0;     ///< largest amount of panels on one device
  std::int64_t memory_budget = 0;      ///< smallest budget of a device, bytes
  double seconds_kernels = 0.0;        ///< on the device, summed over devices
  double seconds_copies = 0.0;         ///< on the device, copies and packing, summed over devices
  double seconds_waiting = 0.0;        ///< host threads that wait for devices
  double seconds_preparing = 0.0;      ///< host threads that prepare launches
  std::int64_t launches = 0;
};

/// Executes tasks on GPUs. Each GPU has several workers, so that one task is prepared and sent while another one runs.
class CudaExecutor : public PanelExecutor {
 public:
  virtual CudaReport report() const = 0;
};

/// Makes an executor and reads its operands from the sources of `problem`. `tiles`: the orbital tiles of the tasks.
///
/// First, each device computes a small molecule, which is compared with the CPU executor. Throws UsageError if a device
/// or kernel does not exist, or if no task fits into the memory. Throws DeviceError if a device fails or gives wrong
/// numbers; so do the workers.
std::unique_ptr<CudaExecutor> make_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                 const CudaOptions& options);
/// The same without operands. The caller provides them with take_panels().
std::unique_ptr<CudaExecutor> prepare_cuda_executor(const Problem& problem, const TileSpace& tiles,
                                                    const CudaOptions& options);

}  // namespace trifuse
