#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cxx/parallel/rank_assignment.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class Communicator;

/// Where the operands are stored. `own`: every rank that computes stores all operands. `shared`: the operands are
/// distributed over all ranks.
enum class OperandStorage { own, shared };

/// Returns the number of threads of this rank if all ranks compute on cores. OMP_NUM_THREADS decides if it is set.
/// Otherwise ranks with the same cores share them evenly. Collective.
int threads_of_each(Communicator& communicator);

/// Returns the number of this process on its host as the launcher gives it in an environment variable (Open MPI, MPICH,
/// Intel MPI, MVAPICH2, PALS, Slurm). Returns nullopt if no such variable is set. Not collective.
std::optional<int> rank_on_host_by_launcher();

/// Returns the resources of this process without a GPU and without operands. Measures the speed of a core, which takes
/// some milliseconds.
RankResources resources_of_this_process();

/// Returns the resources of all ranks, in the order of ranks. Collective. `mine`: the resources of this rank.
std::vector<RankResources> allgather(Communicator& communicator, const RankResources& mine);

/// Returns the name of a rank's GPU for users: its label. If the host has another GPU with the same label, the first 12
/// characters of the identity follow.
///
/// `ranks`: the resources of all ranks. `rank`: one of them, with a GPU.
std::string gpu_name(const std::vector<RankResources>& ranks, const RankResources& rank);

/// Returns the number of ranks that use the GPU of a rank, this rank included; 0 if the rank has no GPU.
///
/// `ranks`: ranks[rank], the resources of all ranks. `rank`: number of the rank.
int ranks_on_gpu(const std::vector<RankResources>& ranks, int rank);

/// Assigns roles, threads and memory to the ranks. Returns assignments[rank]. All ranks get the same result from the
/// same arguments.
///
/// Ranks with a GPU are workers. If there are any, ranks without a GPU are CPU workers, as long as the memory of their
/// host suffices. If no rank has a GPU, as many ranks of each host are workers as its memory allows, and they share the
/// cores. All other ranks are idle.
///
/// On a host with GPUs, its ranks with a GPU store the shared operands. On other hosts all ranks store them, idle ones
/// included. The part of a host is proportional to its number of ranks. The rest of a host's memory is divided evenly
/// among its ranks that compute, for panels of other ranks and for scratch.
///
/// If every rank has operands of its own, CPU workers must read all of them over the network, which the GPU ranks use
/// too. CPU workers then help only if together they shorten the job by more than this reading takes.
///
/// `ranks`: ranks[rank], the resources of all ranks. `operations`: floating-point operations of the job. `operands`:
/// where the operands are stored. Throws UsageError if no rank can compute, or if a host has too little memory for its
/// part of shared operands.
std::vector<RankAssignment> assign_work(const std::vector<RankResources>& ranks, double operations,
                                        OperandStorage operands = OperandStorage::own);

}

#pragma GCC visibility pop
