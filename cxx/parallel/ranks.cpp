#include "cxx/parallel/ranks.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "cxx/base/blas.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/free_memory.hpp"
#include "cxx/base/hosts.hpp"

namespace trifuse {

namespace {

/// Longest texts that ranks exchange, bytes. Longer texts are cut.
constexpr std::size_t longest_gpu_name = 64, longest_list_of_cores = 256;

std::size_t u(int n) {
  return static_cast<std::size_t>(n);
}

void find_cores(RankResources& mine) {
  // No machine has more cores. The kernel refuses a set that is smaller than its own.
  constexpr int max_cores = 8192;
  cpu_set_t* set = CPU_ALLOC(max_cores);
  const std::size_t bytes = CPU_ALLOC_SIZE(max_cores);
  if (set == nullptr) throw SystemError("There is not enough memory.");
  if (sched_getaffinity(0, bytes, set) == 0) {
    mine.core_count = std::max(1, CPU_COUNT_S(bytes, set));
    // Writes ranges of cores, e.g. 0-7,16-23.
    for (int core = 0; core < max_cores; ++core) {
      if (!CPU_ISSET_S(u(core), bytes, set)) continue;
      int last = core;
      while (last + 1 < max_cores && CPU_ISSET_S(u(last + 1), bytes, set)) ++last;
      mine.cores += fmt::format("{}{}-{}", mine.cores.empty() ? "" : ",", core, last);
      core = last;
    }
  }
  CPU_FREE(set);
}

/// Measures a matrix product on one core. Returns operations per second.
double measured_core_rate() {
  use_single_threaded_blas();
  constexpr std::int64_t m = 256, n = 512, k = 64;
  const std::vector<double> a(m * k, 0.5), b(n * k, 0.5);
  std::vector<double> c(m * n);
  double seconds = 1.0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    const double start = wall_seconds();
    multiply_transposed(m, n, k, a.data(), k, b.data(), k, c.data());
    seconds = std::min(seconds, wall_seconds() - start);
  }
  return 2.0 * m * n * k / std::max(seconds, 1e-6);
}

int threads_asked_for() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text != nullptr ? std::clamp(std::atoi(text), 0, 4096) : 0;
}

/// Returns the host, the cores and OMP_NUM_THREADS of this process.
RankResources cores_of_this_process() {
  RankResources mine;
  mine.host = host_of_this_process();
  find_cores(mine);
  mine.threads_asked = threads_asked_for();
  return mine;
}

/// Returns the number of threads of a rank if `ranks_on_cores` ranks share its cores.
int threads(const RankResources& rank, int ranks_on_cores) {
  return rank.threads_asked > 0 ? rank.threads_asked : std::max(1, rank.core_count / std::max(1, ranks_on_cores));
}

/// Sums over groups of ranks, by the name of the group. A group is the ranks of one host, or the ranks with the same
/// cores.
template <typename Number>
using Sums = std::map<std::string, Number>;

/// Returns a text that identifies the cores of a rank: its host and the numbers of the cores.
std::string cores_of(const RankResources& rank) {
  return rank.host + " " + rank.cores;
}

/// Returns the part of the shared operands that each rank stores, shares[rank]. The part of a host is proportional to
/// its number of ranks. If the host has ranks with a GPU, only these ranks store operands: their GPUs exchange panels,
/// and each GPU loads its panels from the memory of its own rank.
std::vector<OperandShare> shares_of_operands(const std::vector<RankResources>& ranks) {
  Sums<int> all, with_gpu;
  for (const RankResources& rank : ranks) {
    ++all[rank.host];
    with_gpu[rank.host] += rank.gpu.empty() ? 0 : 1;
  }
  std::vector<OperandShare> shares;
  for (const RankResources& rank : ranks) {
    const int ranks_of_host = all[rank.host], gpus = with_gpu[rank.host];
    const int owners = gpus > 0 ? gpus : ranks_of_host;
    if (gpus > 0 && rank.gpu.empty()) {
      shares.push_back({0.0, 0});
    } else {
      shares.push_back(
          {static_cast<double>(ranks_of_host) / owners, ranks_of_host > 1 ? segments_of_each_owner(owners) : 1});
    }
  }
  return shares;
}

/// The memory that ranks need on their hosts, in bytes.
class Memory {
 public:
  Memory(const std::vector<RankResources>& ranks, const std::vector<OperandShare>& shares, OperandStorage operands,
         double share_of_host)
      : ranks_(ranks), shares_(shares), operands_(operands) {
    for (const RankResources& rank : ranks) bytes_ = std::max(bytes_, rank.operand_bytes);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const double memory = share_of_host * ranks[r].memory;
      Host& host = hosts_.try_emplace(ranks[r].host, Host{memory, 0.0, 0}).first->second;
      host.memory = std::min(host.memory, memory);
      host.operands += of_operands(r);
      ++host.ranks;
    }
  }

  struct Host {
    double memory;    ///< for all ranks of the host together
    double operands;  ///< part of `memory` that shared operands take
    int ranks;
  };
  const Host& of_host(const std::string& name) const { return hosts_.at(name); }

  /// Returns the size of the shared operands that a rank stores.
  double of_operands(std::size_t rank) const {
    return operands_ == OperandStorage::shared ? bytes_ / static_cast<double>(ranks_.size()) * shares_[rank].share
                                               : 0.0;
  }

  /// Returns the smallest memory that a rank needs to compute, besides the shared operands that it stores.
  double to_compute(std::size_t rank) const {
    return ranks_[rank].working_bytes + (operands_ == OperandStorage::own ? ranks_[rank].operand_bytes : 0.0);
  }

 private:
  const std::vector<RankResources>& ranks_;
  const std::vector<OperandShare>& shares_;
  OperandStorage operands_;
  double bytes_ = 0.0;  ///< size of all operands
  std::map<std::string, Host> hosts_;
};

/// Returns the ranks without a GPU that can compute. On each host these are as many as its memory allows besides the
/// ranks with a GPU.
std::vector<int> ranks_that_fit(const std::vector<RankResources>& ranks, const Memory& memory) {
  Sums<double> needed;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].gpu.empty()) needed[ranks[r].host] += memory.to_compute(r);
  }
  std::vector<int> fitting;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].gpu.empty()) continue;
    const Memory::Host& host = memory.of_host(ranks[r].host);
    const double of_ranks = needed[ranks[r].host] += memory.to_compute(r);
    if (host.operands + of_ranks <= host.memory) fitting.push_back(static_cast<int>(r));
  }
  return fitting;
}

/// Assigns memory to each rank if operands are shared. Throws UsageError if a host has too little memory for its part.
void share_memory(const std::vector<RankResources>& ranks, const Memory& memory,
                  std::vector<RankAssignment>& assignments) {
  Sums<int> computing;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    computing[ranks[r].host] += assignments[r].role != RankAssignment::Role::idle ? 1 : 0;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Memory::Host& host = memory.of_host(ranks[r].host);
    const double left = host.memory - host.operands;
    if (left < 0.0) {
      throw UsageError(
          fmt::format("The {} ranks on the host {} need {} for operands, but the memory of the host is too "
                      "small; use more hosts.",
                      host.ranks, ranks[r].host, format_bytes(host.operands)));
    }
    const bool idle = assignments[r].role == RankAssignment::Role::idle;
    assignments[r].memory = memory.of_operands(r) + (idle ? 0.0 : left / computing[ranks[r].host]);
  }
}

/// Returns the number of threads of a rank without a GPU. Its cores are shared by `on_cores` ranks that compute without
/// a GPU and by `with_gpus` ranks that compute with one. Ranks with a GPU keep the threads that they need.
int threads_beside(const RankResources& rank, int on_cores, int with_gpus) {
  // So many threads prepare the work of a GPU.
  constexpr int of_gpu = 4;
  const int even = rank.core_count / (on_cores + with_gpus);
  const int left = rank.core_count - with_gpus * std::min(even, of_gpu);
  return rank.threads_asked > 0 ? rank.threads_asked : std::max(1, left / on_cores);
}

/// Assigns threads and rates. `on_cores`: the ranks that compute without a GPU. Ranks that compute share the cores that
/// they have in common. Idle ranks share their cores with all other ranks: they may all have operands to read.
void set_rates(const std::vector<RankResources>& ranks, const std::vector<int>& on_cores,
               std::vector<RankAssignment>& assignments) {
  std::vector<bool> computes;
  for (const RankResources& rank : ranks) computes.push_back(!rank.gpu.empty());
  for (const int r : on_cores) computes[u(r)] = true;
  Sums<int> computing, with_gpus, all, of_gpu;
  const auto gpu_of = [](const RankResources& rank) { return rank.host + " " + rank.gpu_identity; };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ++all[cores_of(ranks[r])];
    computing[cores_of(ranks[r])] += computes[r] ? 1 : 0;
    if (ranks[r].gpu.empty()) continue;
    ++with_gpus[cores_of(ranks[r])];
    ++of_gpu[gpu_of(ranks[r])];
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::string cores = cores_of(ranks[r]);
    assignments[r].threads = computes[r] && ranks[r].gpu.empty()
                                 ? threads_beside(ranks[r], computing[cores] - with_gpus[cores], with_gpus[cores])
                                 : threads(ranks[r], (computes[r] ? computing : all)[cores]);
    assignments[r].rate_on_cores = assignments[r].threads * ranks[r].core_rate;
    assignments[r].rate =
        ranks[r].gpu.empty() ? assignments[r].rate_on_cores : ranks[r].gpu_rate / of_gpu[gpu_of(ranks[r])];
  }
}

/// Assigns the threads for reading operands. Ranks that store operands also use the threads of ranks with the same
/// cores that store none.
void set_reading_threads(const std::vector<RankResources>& ranks, std::vector<RankAssignment>& assignments) {
  Sums<int> all, readers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    all[cores_of(ranks[r])] += assignments[r].threads;
    readers[cores_of(ranks[r])] += assignments[r].operands.segments > 0 ? 1 : 0;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (assignments[r].operands.segments == 0) continue;
    const int together = std::min(all[cores_of(ranks[r])], ranks[r].core_count);
    assignments[r].reading_threads = std::max(assignments[r].threads, together / readers[cores_of(ranks[r])]);
  }
}

/// Returns true if CPU workers on the ranks `on_cores` shorten the job of the GPUs by more than reading their operands
/// takes.
bool worth_helping(const std::vector<RankResources>& ranks, const std::vector<int>& on_cores,
                   const std::vector<RankAssignment>& assignments, double operations) {
  double gpu_rate = 0.0, core_rate = 0.0, bytes = 0.0;
  for (std::size_t r = 0; r < ranks.size(); ++r) gpu_rate += ranks[r].gpu.empty() ? 0.0 : assignments[r].rate;
  for (const int r : on_cores) {
    core_rate += assignments[u(r)].rate;
    bytes = std::max(bytes, ranks[u(r)].operand_bytes);
  }
  // Bytes per second that a rank reads from other ranks if all of them read.
  constexpr double reading_rate = 0.3e9;
  return operations / gpu_rate - operations / (gpu_rate + core_rate) > bytes / reading_rate;
}

}

int threads_of_each(Communicator& communicator) {
  const RankResources mine = cores_of_this_process();
  const std::vector<std::string> cores =
      allgather(communicator, cores_of(mine), longest_host_name + longest_list_of_cores);
  return threads(mine, static_cast<int>(std::count(cores.begin(), cores.end(), cores[u(communicator.rank())])));
}

std::optional<int> rank_on_host_by_launcher() {
  const auto number = [](const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr && *text >= '0' && *text <= '9' ? std::optional(std::atoi(text)) : std::nullopt;
  };
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK",
                               "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"}) {
    if (const auto found = number(variable)) return found;
  }
  // In a batch script SLURM_LOCALID is 0 for all processes that a launcher other than Slurm's own has started.
  if (number("SLURM_STEP_NUM_TASKS").value_or(1) > 1) return number("SLURM_LOCALID");
  return std::nullopt;
}

RankResources resources_of_this_process() {
  RankResources mine = cores_of_this_process();
  mine.memory = free_memory();
  mine.core_rate = measured_core_rate();
  return mine;
}

std::vector<RankResources> allgather(Communicator& communicator, const RankResources& mine) {
  const std::vector<std::string> hosts = allgather(communicator, mine.host, longest_host_name);
  const std::vector<std::string> cores = allgather(communicator, mine.cores, longest_list_of_cores);
  const std::vector<std::string> gpus = allgather(communicator, mine.gpu, longest_gpu_name);
  const std::vector<std::string> labels = allgather(communicator, mine.gpu_label, longest_gpu_name);
  const std::vector<std::string> identities = allgather(communicator, mine.gpu_identity, longest_gpu_name);
  const std::vector<double> row = {static_cast<double>(mine.core_count),
                                   static_cast<double>(mine.threads_asked),
                                   mine.memory,
                                   mine.core_rate,
                                   mine.gpu_rate,
                                   mine.operand_bytes,
                                   mine.working_bytes,
                                   static_cast<double>(mine.gpu_count)};
  const std::vector<double> numbers = allgather(communicator, row);
  std::vector<RankResources> ranks;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    const double* n = numbers.data() + r * row.size();
    ranks.push_back({hosts[r], cores[r], static_cast<int>(n[0]), static_cast<int>(n[1]), n[2], n[3], gpus[r], labels[r],
                     identities[r], n[4], n[5], n[6], static_cast<int>(n[7])});
  }
  return ranks;
}

std::string gpu_name(const std::vector<RankResources>& ranks, const RankResources& rank) {
  const auto could_be_confused = [&](const RankResources& other) {
    return other.host == rank.host && other.gpu_label == rank.gpu_label && other.gpu_identity != rank.gpu_identity;
  };
  // So long is the short form of nvidia-smi, "GPU-8932f937".
  constexpr std::size_t shortened = 12;
  const bool ambiguous = std::any_of(ranks.begin(), ranks.end(), could_be_confused);
  return ambiguous ? fmt::format("{}, {}", rank.gpu_label, rank.gpu_identity.substr(0, shortened)) : rank.gpu_label;
}

int ranks_on_gpu(const std::vector<RankResources>& ranks, int rank) {
  const RankResources& mine = ranks[u(rank)];
  if (mine.gpu.empty()) return 0;
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [&](const RankResources& other) {
    return !other.gpu.empty() && other.host == mine.host && other.gpu_identity == mine.gpu_identity;
  }));
}

std::vector<RankAssignment> assign_work(const std::vector<RankResources>& ranks, double operations,
                                        OperandStorage operands) {
  std::vector<RankAssignment> assignments(ranks.size());
  const bool gpus = std::any_of(ranks.begin(), ranks.end(), [](const RankResources& r) { return !r.gpu.empty(); });
  // With GPUs, half of the memory is left to the host program, which needs it afterwards.
  const std::vector<OperandShare> operand_shares = shares_of_operands(ranks);
  const Memory memory(ranks, operand_shares, operands, gpus ? 0.5 : 0.9);
  std::vector<int> on_cores = ranks_that_fit(ranks, memory);
  if (!gpus && on_cores.empty()) {
    throw UsageError(fmt::format(
        "The operands take {}{}, but no host has that much free memory; use more hosts or GPUs.",
        format_bytes(ranks.front().operand_bytes), operands == OperandStorage::own ? " for each rank" : " in all"));
  }
  set_rates(ranks, on_cores, assignments);
  if (gpus && operands == OperandStorage::own && !worth_helping(ranks, on_cores, assignments, operations)) {
    on_cores.clear();
    set_rates(ranks, on_cores, assignments);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    assignments[r].role = ranks[r].gpu.empty() ? RankAssignment::Role::idle : RankAssignment::Role::worker;
  }
  for (const int r : on_cores) {
    assignments[u(r)].role = gpus ? RankAssignment::Role::cpu_worker : RankAssignment::Role::worker;
    assignments[u(r)].threads_share_task = gpus;
  }
  double total_rate = 0.0;
  for (const RankAssignment& assignment : assignments)
    total_rate += assignment.role == RankAssignment::Role::idle ? 0.0 : assignment.rate;
  for (RankAssignment& assignment : assignments) assignment.total_rate = total_rate;
  if (operands == OperandStorage::own) return assignments;
  for (std::size_t r = 0; r < ranks.size(); ++r) assignments[r].operands = operand_shares[r];
  set_reading_threads(ranks, assignments);
  share_memory(ranks, memory, assignments);
  return assignments;
}

}
