#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/units.hpp"

namespace trifuse {

/// What a rank of a team has to compute with.
struct RankResources {
  std::string host;
  std::string cores;  ///< which of the host's this process may use, as text to be compared
  int core_count = 1;
  int threads_asked = 0;       ///< OMP_NUM_THREADS, or 0
  double memory = 0.0;         ///< bytes that the host has free
  double core_rate = 1.0;      ///< operations per second of one core
  std::string gpu;             ///< its name; empty without one
  std::string gpu_label;       ///< by which users know it
  std::string gpu_identity;    ///< tells it from the others
  double gpu_rate = 0.0;       ///< operations per second
  double operand_bytes = 0.0;  ///< of all operands as this rank reads them
  double working_bytes = 0.0;  ///< the least that it needs beside them on the host
};

/// Where operands are: each rank that computes has all of them, or all ranks have a piece each.
enum class Operands { of_each, shared };

/// How many threads this rank may have where all ranks do the same: those that have their cores in common share them,
/// unless OMP_NUM_THREADS says how many each has. Collective.
int threads_of_each(Communicator& communicator);

/// The number of this rank on its host, from 0: collective.
int rank_on_host(Communicator& communicator);

/// The same as the launcher tells its processes (Open MPI, MPICH, Intel MPI, MVAPICH2, PALS, Slurm), for those that may
/// not ask each other. None where it says nothing.
std::optional<int> rank_on_host_by_launcher();

/// Of this process, without a GPU. Measures a core, which takes some milliseconds.
RankResources resources_of_this_process();

/// Those of all ranks: collective.
std::vector<RankResources> allgather(Communicator& communicator, const RankResources& mine);

/// The GPU of a rank for users: its label, and where the host has another one of this label, what its identity begins
/// with, too.
std::string gpu_name(const std::vector<RankResources>& ranks, const RankResources& rank);

/// How many ranks have the same GPU as this one, itself included; 0 without a GPU.
int sharers_of_gpu(const std::vector<RankResources>& ranks, int rank);

/// What each rank does, the same on all of them.
///
/// Ranks with a GPU work. Where there are such, the others help as far as the memory of their host holds what they
/// need: it is cores against GPUs, and a rank that does not help at least does no harm. Without any GPU as many ranks
/// of each host work as its memory holds, and share the cores.
///
/// Shared operands lie in the memories of all ranks, also of those that wait, but on hosts with GPUs of the ranks with
/// these alone; each host has as much as it has ranks. They are cut for GPUs where there are such. What a host has left
/// is then for panels of other ranks, the same for each rank that computes. Where each rank has operands of its own,
/// ranks help only if all of them together shorten the job by more than reading those takes (they come by the network
/// that GPU ranks use, too). Throws UsageError where nobody can work, or where shared operands do not fit.
std::vector<TeamShare> share_out(const std::vector<RankResources>& ranks, double operations,
                                 Operands operands = Operands::of_each);

}  // namespace trifuse
