#pragma once

#include <string>

#include "cxx/base/shared_array.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The hardware of one rank, and the memory that its operands need.
struct RankResources {
  std::string host;
  std::string cores;           ///< cores of the host that this process may use, e.g. "0-7,16-23"
  int core_count = 1;          ///< number of these cores
  int threads_asked = 0;       ///< OMP_NUM_THREADS; 0 if it is not set
  double memory = 0.0;         ///< free memory of the host, bytes
  double core_rate = 1.0;      ///< operations per second of one core
  std::string gpu;             ///< model name of its GPUs; empty if the rank has none
  std::string gpu_label;       ///< names of the GPUs for users, see `gpu_name`
  std::string gpu_identity;    ///< identity of the first GPU; all GPUs of a host have different ones
  double gpu_rate = 0.0;       ///< speed of all its GPUs together, operations per second
  double operand_bytes = 0.0;  ///< size of all operands in this rank's tiling
  double working_bytes = 0.0;  ///< smallest host memory that this rank needs besides operands
  int gpu_count = 1;           ///< number of its GPUs, if it has any
};

/// Role and resources of one rank in a run (see `assign_work` in ranks.hpp).
struct RankAssignment {
  enum class Role {
    worker,      ///< claims chunks from the front of the list, several at a time
    cpu_worker,  ///< much slower than a worker: claims single, small chunks from the back of the list
    idle,        ///< computes nothing, but takes part in collective calls
  };
  Role role = Role::worker;
  double rate = 1.0;                ///< speed of this rank, operations per second
  double total_rate = 1.0;          ///< sum of the speeds of all ranks that compute, operations per second
  int threads = 0;                  ///< largest number of threads; 0: as planned
  bool threads_share_task = false;  ///< on cores: true: all threads share a task; false: each thread has its own task
  double rate_on_cores = 0.0;       ///< speed of this rank on its cores if its GPU fails; 0: unknown
  double worker_rate = 0.0;         ///< average speed of the workers, operations per second; 0: unknown
  double memory = 0.0;              ///< host memory for operands and scratch if operands are shared, bytes; 0: no limit
  OperandShare operands = {};       ///< the part of the shared operands that this rank stores
  int reading_threads = 0;          ///< number of threads that read this part; 0: as `threads`

  /// Turns this rank into a CPU worker.
  void continue_on_cores() {
    role = Role::cpu_worker;
    threads_share_task = true;
    if (rate_on_cores > 0.0) rate = rate_on_cores;
  }
};

}

#pragma GCC visibility pop
