#include "cxx/calculation/distributed_calculation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cxx/base/hosts.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/state.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/ranks.hpp"

namespace trifuse {

namespace {

const char* visible_by_environment() {
  return std::getenv("CUDA_VISIBLE_DEVICES");
}

/// Returns the GPUs of this rank. Collective.
std::vector<DeviceInfo> devices_of_this_rank(Communicator& communicator, const DistributedOptions& options) {
  std::vector<DeviceInfo> usable;
  run_collectively(&communicator, [&] {
    if (!options.with_gpu || options.calculation.executor != ExecutorKind::cuda) return;
    usable = choose_devices(visible_devices(), options.calculation.devices);
    if (options.gpus_of_host) usable.resize(std::min(usable.size(), static_cast<std::size_t>(*options.gpus_of_host)));
  });
  std::string list;
  for (const DeviceInfo& device : usable) {
    list += (list.empty() ? "" : " ") + device_identity(device, visible_by_environment());
  }
  constexpr std::size_t longest_list = 1024;
  const std::vector<std::string> hosts = hosts_of_ranks(communicator);
  const std::vector<std::string> lists = allgather(communicator, list, longest_list);
  std::vector<DeviceInfo> mine;
  for (const std::size_t index :
       assigned_devices(hosts, lists, static_cast<std::size_t>(communicator.rank()), options.may_share)) {
    mine.push_back(usable.at(index));
  }
  return mine;
}

RankResources resources_of_this_rank(int threads, const std::vector<DeviceInfo>& devices) {
  RankResources mine = resources_of_this_process();
  if (threads > 0) mine.threads_asked = threads;
  for (const DeviceInfo& device : devices) {
    mine.gpu_label += (mine.gpu_label.empty() ? "" : ",") + device_label(device, visible_by_environment());
    mine.gpu_rate += nominal_rate(device);
  }
  if (!devices.empty()) {
    mine.gpu = devices.front().name;
    mine.gpu_identity = device_identity(devices.front(), visible_by_environment());
    mine.gpu_count = static_cast<int>(devices.size());
  }
  return mine;
}

/// Returns the numbers that differ between different calculations and cost nothing to compute.
std::vector<double> numbers_of(const Calculation& calculation) {
  const Problem& problem = calculation.problem();
  const std::span<const double> energies = problem.right->orbital_energies();
  double weighted = 0.0;
  for (std::size_t p = 0; p < energies.size(); ++p) weighted += static_cast<double>(p + 1) * energies[p];
  double omega2 = 0.0;
  for (std::size_t w = 0; w < problem.quotients.size(); ++w)
    omega2 += static_cast<double>(w + 1) * problem.quotients[w].omega2;
  return {static_cast<double>(calculation.plan().tasks.size()),
          calculation.plan().total_operations,
          static_cast<double>(calculation.plan().tiles.largest_tile()),
          static_cast<double>(problem.formulation),
          static_cast<double>(problem.quotients.size()),
          omega2,
          weighted,
          static_cast<double>(problem.sides()),
          static_cast<double>(calculation.options().precision),
          calculation.options().target_error.value_or(0.0)};
}

CalculationOptions options_of_this_rank(const DistributedOptions& options, const std::vector<DeviceInfo>& devices,
                                        const RankResources& mine, int ranks_on_it, bool any_gpu) {
  CalculationOptions chosen = options.calculation;
  chosen.threads = mine.threads_asked > 0 ? mine.threads_asked : mine.core_count;
  chosen.devices.clear();
  if (any_gpu) chosen.memory.reset();  // in a run with GPUs, the option limits the GPUs only
  if (devices.empty()) {
    if (chosen.executor == ExecutorKind::cuda) chosen.executor = ExecutorKind::cpu;
    chosen.kernel.clear();
    return chosen;
  }
  chosen.executor = ExecutorKind::cuda;
  for (const DeviceInfo& device : devices) chosen.devices.push_back(device.number);
  chosen.memory = options.gpu_memory ? options.gpu_memory : options.calculation.memory;
  // Without this limit each rank on a shared GPU would take all free memory.
  if (!chosen.memory && ranks_on_it > 1) {
    constexpr double usable = 0.9;
    const auto free = static_cast<double>(free_device_memory(devices.front().number));
    chosen.memory = static_cast<std::int64_t>(usable * free / ranks_on_it);
  }
  return chosen;
}

}

DistributedCalculation plan_distributed(Communicator& communicator, const TileSource& right, const TileSource* left,
                                        const DistributedOptions& options) {
  const std::vector<DeviceInfo> devices = devices_of_this_rank(communicator, options);
  RankResources mine;
  run_collectively(&communicator, [&] { mine = resources_of_this_rank(options.calculation.threads, devices); });
  std::vector<RankResources> ranks = allgather(communicator, mine);
  const bool any_gpu = std::any_of(ranks.begin(), ranks.end(), [](const RankResources& r) { return !r.gpu.empty(); });
  const double has_journal = options.calculation.journal.empty() ? 0.0 : 1.0;
  expect_same(communicator, std::span(&has_journal, 1));
  RankOptions of_rank;
  if (any_gpu) of_rank.plan_for = ExecutorKind::cuda;
  if (has_journal != 0.0) of_rank.journal_tiles = Journal::tiles_in(options.calculation.journal, &communicator);
  if (communicator.has_arrays()) of_rank.ranks_with_operands = communicator.size();
  std::optional<Calculation> calculation;
  run_collectively(&communicator, [&] {
    const int ranks_on_it = ranks_on_gpu(ranks, communicator.rank());
    calculation.emplace(right, left, options_of_this_rank(options, devices, mine, ranks_on_it, any_gpu), of_rank);
  });
  expect_same(communicator, numbers_of(*calculation));
  const MemoryPlan& memory = calculation->memory();
  const std::int64_t of_each_rank = of_rank.ranks_with_operands * memory.of_each_rank();
  const double needs[] = {static_cast<double>(memory.operands + memory.rotated + of_each_rank),
                          static_cast<double>(memory.working())};
  const std::vector<double> needs_of_ranks = allgather(communicator, needs);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].operand_bytes = needs_of_ranks[2 * r];
    ranks[r].working_bytes = needs_of_ranks[2 * r + 1];
  }
  std::vector<RankAssignment> assignments;
  run_collectively(&communicator, [&] {
    const bool shared = communicator.has_arrays() && communicator.size() > 1;
    assignments =
        assign_work(ranks, calculation->plan().total_operations, shared ? OperandStorage::shared : OperandStorage::own);
    calculation->join(communicator, assignments[static_cast<std::size_t>(communicator.rank())]);
  });
  return {std::move(*calculation), std::move(ranks), std::move(assignments)};
}

std::string describe_rank(const DistributedCalculation& distributed_calculation, std::size_t rank) {
  const RankResources& resources = distributed_calculation.ranks[rank];
  const RankAssignment& assignment = distributed_calculation.assignments[rank];
  if (assignment.role == RankAssignment::Role::idle) return "idle";
  const std::string cores = fmt::format("{} core{}", assignment.threads, assignment.threads == 1 ? "" : "s");
  if (resources.gpu.empty()) return cores;
  const int ranks_on_it = ranks_on_gpu(distributed_calculation.ranks, static_cast<int>(rank));
  return fmt::format("GPU{} {} ({}), {}{}", resources.gpu_count > 1 ? "s" : "",
                     gpu_name(distributed_calculation.ranks, resources), resources.gpu, cores,
                     ranks_on_it > 1 ? fmt::format(" -- WARNING: {} ranks share this GPU", ranks_on_it) : "");
}

std::vector<std::string> rank_table(const DistributedCalculation& distributed_calculation) {
  const std::size_t size = distributed_calculation.ranks.size();
  std::vector<std::string> table = {fmt::format("{:>11}  {:<24}  {}", "rank", "host", "computes on")};
  const auto line = [&](std::size_t rank) {
    return fmt::format("{:<24}  {}", distributed_calculation.ranks[rank].host,
                       describe_rank(distributed_calculation, rank));
  };
  for (std::size_t first = 0, end = 0; first < size; first = end) {
    const std::string text = line(first);
    for (end = first + 1; end < size && line(end) == text;) ++end;
    const std::string numbers = end == first + 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, end - 1);
    table.push_back(fmt::format("{:>11}  {}", numbers, text));
  }
  return table;
}

}
