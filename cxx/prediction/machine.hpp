#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cxx/prediction/kernel_work.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

/// The numbers of a machine that a prediction needs. Units are seconds, bytes, bytes per second and operations per
/// second. `machine_numbers` gives the origin of each number.
struct MachineModel {
  std::string gpu;                   ///< name of the model, e.g. "h200"
  bool measured = true;              ///< true: kernel rates were measured on this GPU; false: scaled by data sheets
  bool computes_derivatives = true;  ///< true: this GPU has the kernels for them

  // The kernel, on a GPU whose multiprocessors are all busy. Rates are operations per second of a GPU.
  double multiprocessors = 0.0;    ///< number of multiprocessors of a GPU
  double rate_zeros = 0.0;         ///< products of zeros: the peak of the matrix instruction
  double rate_spin_orbital = 0.0;  ///< products of nonzero numbers, which the power limit slows down
  double rate_spin_adapted = 0.0;  ///< the same in the spin-adapted formulation
  double rate_factors = 0.0;       ///< products of factors that make panels
  /// The same numbers in mixed precision: rates of products, and seconds of a multiprocessor for a target without
  /// products.
  double mixed_rate_spin_orbital = 0.0, mixed_rate_spin_adapted = 0.0;
  double mixed_target_spin_orbital = 0.0, mixed_target_spin_adapted = 0.0;
  double memory_rate = 0.0;          ///< bytes per second of the memory of a GPU, in which panels are packed
  double target_spin_orbital = 0.0;  ///< seconds of a multiprocessor for a target of a CTA tile, without products
  double target_spin_adapted = 0.0;  ///< the same in the spin-adapted formulation
  double gpu_memory = 0.0;           ///< free memory of a GPU before a run, bytes
  double launch = 0.0;               ///< seconds that a launch takes besides its kernel
  double prepare_task = 0.0;         ///< seconds that a host thread needs to prepare a task

  // A node.
  double gpus_per_node = 0.0, cores_per_node = 0.0;
  double core_rate = 0.0;     ///< operations per second of a core
  double node_memory = 0.0;   ///< bytes
  double link = 0.0;          ///< bytes per second from the host to each GPU
  double fill = 0.0;          ///< bytes per second of panels that a process makes from blocks
  double fill_cores = 0.0;    ///< number of cores that a process needs to reach `fill`
  double fill_node = 0.0;     ///< bytes per second of panels that all processes of a node make, at most
  double shared_pages = 0.0;  ///< bytes per second at which one file of shared memory gets new pages
  double fetch = 0.0;         ///< bytes per second of shared operands to a rank from ranks of the same node
  double owned_panels = 0.0;  ///< bytes per second at which all GPUs of a node together load the panels that they own
  double peer = 0.0;          ///< bytes per second of panels from a peer GPU of the same node
  double check = 0.0;         ///< bytes per second of amplitudes and integrals that a node checks
  double read = 0.0;          ///< bytes per second of amplitudes and integrals that a node reads from files
  double startup = 0.0;       ///< seconds before the first read: self-test and first use of a GPU
  double plan_task = 0.0;     ///< seconds of planning for each task, on every rank

  // Between nodes.
  double network = 0.0;          ///< bytes per second of each node
  double counter_latency = 0.0;  ///< seconds of one access to the shared counter
  double counter_service = 0.0;  ///< seconds for which one access blocks the counter

  /// Returns the seconds that a GPU needs for `work` if its multiprocessors share the work evenly.
  double kernel_seconds(const KernelWork& work, SpinFormulation formulation,
                        Precision precision = Precision::fp64) const;
  /// Returns the numbers for tasks with derivatives, which take longer by a factor of each precision. It was measured
  /// on cores with (7, 107) and (15, 100) occupied and virtual orbitals of a closed shell, and on an H200 with (20,
  /// 200) and, for all derivatives, (40, 240).
  MachineModel with_derivatives(Derivatives derivatives) const;
  /// Returns true if products in double precision have less than a tenth of the rate in mixed precision.
  bool double_is_slow() const { return rate_spin_adapted < 0.1 * mixed_rate_spin_adapted; }
};

/// Description of a number of the model.
struct MachineNumber {
  const char* name;             ///< name for `assume`
  double MachineModel::*value;  ///< the member
  const char* unit;             ///< "s", "B", "B/s", "op/s" or "" (a count)
  double on_h200;               ///< value for an H200; 0 if the data sheets have it
  const char* meaning;
  const char* source;  ///< origin of the value for an H200
};
/// Returns all numbers of the model.
std::span<const MachineNumber> machine_numbers();

/// Names of the known GPUs.
std::vector<std::string> gpu_models();
/// Returns the model of a node with GPUs of this name. Throws UsageError if the name is not known.
MachineModel machine_model(const std::string& gpu);
/// Changes a number of `machine`. `assignment`: name=value, e.g. "network=25e9", in the unit of the number. Throws
/// UsageError if the name is not known or the value is out of range.
void assume(MachineModel& machine, const std::string& assignment);

}
