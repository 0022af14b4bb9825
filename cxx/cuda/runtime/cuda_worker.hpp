#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// What the workers of an executor have done.
struct WorkCounts {
  std::mutex mutex;  ///< guards the other members
  DeviceReport report;
  std::map<std::string, std::int64_t> cta_tiles;  ///< key: name of a kernel
};

/// What a worker gets from its executor. The references must outlive it.
struct CudaWork {
  const Problem& problem;
  const TileSpace& coarse;       ///< tiles of the tasks
  const TileSpace& fine;         ///< tiles of subtasks
  bool refined;                  ///< true if a task of `coarse` has several subtasks in `fine`
  std::int64_t launch_limit;     ///< most bytes of panels in one launch
  std::int64_t scratch_doubles;  ///< scratch of a launch, see scratch_doubles()
  std::int64_t seed_bytes;       ///< memory for seeds; 0 without derivatives
  WorkCounts& counts;
};

/// Makes a worker of a device, for the calling thread.
std::unique_ptr<Executor::Worker> make_cuda_worker(const CudaWork& work, const Device& device);

}
