#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/cuda_report.hpp"
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
