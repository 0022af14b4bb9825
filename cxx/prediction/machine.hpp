#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cxx/prediction/kernel_work.hpp"

namespace trifuse {

/// A machine, as far as predictions ask. Seconds, bytes, operations per second; where a number comes from stands beside
/// it in `machine_numbers`.
struct MachineModel {
  std::string gpu;       ///< name of the model, "h200"
  bool measured = true;  ///< whether the kernel's numbers were measured on this GPU, or scaled from one that was

  // The kernel, on a GPU with all its multiprocessors busy.
  double multiprocessors = 0.0;
  double rate_zeros = 0.0;           ///< of products with padding zeros only: the matrix instruction's
  double rate_spin_orbital = 0.0;    ///< of products of numbers: what power leaves
  double rate_spin_adapted = 0.0;    ///< the same in this form
  double target_spin_orbital = 0.0;  ///< seconds of a multiprocessor for a six-index block besides its products
  double target_spin_adapted = 0.0;
  double gpu_memory = 0.0;    ///< free before a run
  double launch = 0.0;        ///< seconds of a launch besides its kernel
  double prepare_task = 0.0;  ///< seconds of a host thread for each task

  // A node.
  double gpus_per_node = 0.0, cores_per_node = 0.0;
  double core_rate = 0.0;
  double node_memory = 0.0;
  double link = 0.0;        ///< host to GPU, of each GPU
  double fill = 0.0;        ///< bytes of panels that a process makes of tiles in a second
  double fill_cores = 0.0;  ///< that it needs for it
  double fill_node = 0.0;   ///< bytes of panels that all processes of a node make in a second, at most
  /// Bytes that the system gives in a second to a file of memory that processes share, beside others
  /// (`most_files_of_host`).
  double shared_pages = 0.0;
  double fetch = 0.0;      ///< bytes of shared operands that a rank gets from others on its node in a second
  double keep = 0.0;       ///< bytes of panels that all GPUs of a node take to keep them for each other in a second
  double neighbour = 0.0;  ///< bytes of panels from a GPU of the same node in a second
  double check = 0.0;      ///< bytes of amplitudes and integrals that a node checks in a second
  double read = 0.0;       ///< bytes of amplitudes and integrals that a node reads in a second
  double startup = 0.0;    ///< until the first tile is read: self-test, first touch of a GPU
  double plan_task = 0.0;  ///< seconds of planning for each task, on every rank

  // Between nodes.
  double network = 0.0;          ///< bytes per second of a node
  double counter_latency = 0.0;  ///< of one claim
  double counter_service = 0.0;  ///< how long a claim keeps the counter from others

  /// Seconds that a GPU takes for work, all of its multiprocessors sharing it evenly.
  double kernel_seconds(const KernelWork& work, SpinFormulation formulation) const;
};

/// What is known of a number of the model.
struct MachineNumber {
  const char* name;
  double MachineModel::*value;
  const char* unit;  ///< "s", "B", "B/s", "op/s" or "" (a count)
  const char* meaning;
  const char* source;  ///< of the value for an H200
};
std::span<const MachineNumber> machine_numbers();

/// Names of the GPUs that are known.
std::vector<std::string> gpu_models();
/// A node with GPUs of this kind. Throws UsageError for a name that is not known.
MachineModel machine_model(const std::string& gpu);
/// Changes a number: "network=25e9". Throws UsageError.
void assume(MachineModel& machine, const std::string& assignment);

}  // namespace trifuse
