#include "cxx/prediction/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/byte_amount.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/shared_array.hpp"
#include "cxx/cuda/schedule/backward_program.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/cuda/schedule/launch_shapes.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/distributed_operands.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/parallel/ranks.hpp"
#include "cxx/prediction/slab_owners.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "tce_tiles/checks/factor_irreps.hpp"
#include "tce_tiles/factors/factors_of_ranks.hpp"

namespace trifuse {

namespace {

/// Host memory of a process besides operands, bytes. It contains libraries and buffers, with GPUs also the CUDA runtime
/// and pinned memory.
constexpr double process_bytes = 100e6, process_bytes_with_gpus = 500e6;
/// Buffers of the threads that read and multiply factors in a process with GPUs, bytes. Measured with 16 and 32 cores.
constexpr double factor_buffer_bytes = 400e6;

/// Returns bytes as an integer. An assumed machine may have more memory than an integer can count.
std::int64_t whole_bytes(double bytes) {
  return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
}

int nodes_of(const JobShape& job, const MachineModel& machine) {
  if (job.nodes > 0) return job.nodes;
  if (job.gpus == 0) return std::max(1, job.ranks);
  return std::max(1, static_cast<int>(std::ceil(job.gpus / machine.gpus_per_node)));
}

/// Returns the ranks of a job: first the ranks with GPUs, then the ranks on CPU cores.
std::vector<SimulatedRank> ranks_of(const JobShape& job, int nodes, const MachineModel& machine, double gpu_rate,
                                    double operations, double operand_bytes, OperandStorage operands) {
  const int with_gpus = std::min(job.ranks, job.gpus), on_cores = job.ranks - with_gpus;
  std::vector<SimulatedRank> ranks(static_cast<std::size_t>(job.ranks));
  for (int r = 0; r < with_gpus; ++r) {
    ranks[static_cast<std::size_t>(r)].gpus = job.gpus / with_gpus + (r < job.gpus % with_gpus ? 1 : 0);
    ranks[static_cast<std::size_t>(r)].assignment.rate = gpu_rate * ranks[static_cast<std::size_t>(r)].gpus;
  }
  if (on_cores == 0) return ranks;
  // As in a run, assign_work() decides from the resources of the ranks which of them compute.
  std::vector<RankResources> resources(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto of_kind = static_cast<int>(r) - (ranks[r].gpus > 0 ? 0 : with_gpus);
    const int kind = ranks[r].gpus > 0 ? with_gpus : on_cores;
    resources[r].host = std::to_string(static_cast<std::int64_t>(of_kind) * nodes / kind);
    resources[r].core_count = static_cast<int>(machine.cores_per_node);
    resources[r].memory = machine.node_memory;
    resources[r].core_rate = machine.core_rate;
    resources[r].operand_bytes = operand_bytes;
    if (ranks[r].gpus == 0) continue;
    resources[r].gpu = machine.gpu;
    resources[r].gpu_identity = std::to_string(r);
    resources[r].gpu_rate = gpu_rate * ranks[r].gpus;
  }
  const std::vector<RankAssignment> assignments = assign_work(resources, operations, operands);
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].assignment = assignments[r];
  return ranks;
}

double gpus_on_node(const JobShape& job, int nodes) {
  return std::ceil(static_cast<double>(job.gpus) / nodes);
}

/// Returns true if the GPUs of a node exchange panels.
bool exchanges_panels(const Prediction& prediction, int nodes) {
  const JobShape& job = prediction.job;
  return gpus_on_node(job, nodes) >= 2 && prediction.shared_operands && job.ranks >= job.gpus;
}

/// Returns the number of GPUs that exchange slabs with each other; 0 if none do. These are the GPUs of a node if each
/// has a rank of its own, else the GPUs of a rank if all ranks have equally many and the slabs do not fit into each
/// GPU.
int exchanging_gpus(const Prediction& prediction, const Inspection& inspection, int nodes) {
  const JobShape& job = prediction.job;
  if (inspection.slab_count() == 0) return 0;
  if (exchanges_panels(prediction, nodes)) return static_cast<int>(gpus_on_node(job, nodes));
  const bool fit = prediction.gpu.slabs >= prediction.gpu.all_slabs;
  return !fit && job.gpus > job.ranks && job.gpus % job.ranks == 0 ? job.gpus / job.ranks : 0;
}

/// Returns the size of the panels that each GPU owns for its peers of the same node, bytes. It is an equal part of all
/// panels that are not made from factors if this part fits, else 0.
double owned_for_peers(const Prediction& prediction, const Inspection& inspection, const gpu::PanelDemand& demand,
                       int nodes) {
  const JobShape& job = prediction.job;
  if (!exchanges_panels(prediction, nodes)) return 0.0;
  const double owned = inspection.all_bytes_on_device_of_sent() / job.gpus;
  const auto limit = gpu::launch_limit_beside_owned(whole_bytes(prediction.gpu.panels), whole_bytes(owned), demand);
  return limit ? owned : 0.0;
}

/// Returns the rate at which each of `processes` processes fetches operands from other ranks, bytes per second.
double rate_from_others(double processes, int nodes, const MachineModel& machine) {
  return nodes > 1 ? machine.network * nodes / processes : machine.fetch;
}

/// Returns the rate at which operands go from the memory of ranks to each GPU, bytes per second. A rank has its own
/// part of them, and fetches the others: once for all its GPUs if they fit into its memory for copies, else for each
/// GPU.
double rate_from_ranks(const Prediction& prediction, int nodes, const MachineModel& machine) {
  const JobShape& job = prediction.job;
  if (!prediction.shared_operands || job.gpus == 0) return machine.link;
  const double others = prediction.node_bytes * nodes - prediction.operand_bytes;
  const double with_gpus = std::min(job.ranks, job.gpus);
  const double fetches = others > static_cast<double>(DistributedOperands::passed_bytes) ? job.gpus / with_gpus : 1.0;
  const double fetch = rate_from_others(with_gpus, nodes, machine) / fetches;
  return std::min(machine.link, fetch * prediction.node_bytes * nodes / others);
}

/// Returns the rate at which panels that a GPU does not own go to it, bytes per second.
double copy_rate(const Prediction& prediction, int nodes, const MachineModel& machine) {
  const JobShape& job = prediction.job;
  const double from_ranks = rate_from_ranks(prediction, nodes, machine);
  if (prediction.owned_bytes == 0.0) return from_ranks;
  const double here = gpus_on_node(job, nodes), gpus = job.gpus;
  return gpus / ((here - 1) / machine.peer + (gpus - here) / from_ranks);
}

/// Sets what GPUs exchange with their peers.
void set_exchange(const Inspection& inspection, const gpu::PanelDemand& demand, int nodes, Prediction& prediction,
                  SimulationSettings& settings) {
  const double here = gpus_on_node(prediction.job, nodes);
  if (prediction.owned_bytes > 0.0) settings.panels_from_peers = (here - 1.0) / prediction.job.gpus;
  settings.exchanging_gpus = exchanging_gpus(prediction, inspection, nodes);
  if (settings.exchanging_gpus == 0) return;
  settings.owned_slab_limit = gpu::owned_slab_limit(whole_bytes(prediction.gpu.slabs), demand);
  const SlabOwners owners = slab_owners(inspection, settings.exchanging_gpus, settings.owned_slab_limit);
  prediction.owned_slab_bytes = *std::max_element(owners.bytes.begin(), owners.bytes.end());
}

/// What factors cost besides the making of panels: floating-point operations, and memory in bytes.
struct FactorCost {
  double check = 0.0;  ///< operations of the check of the input, which makes ovov and two terms of the singles equation
  double bytes = 0.0;  ///< size of the factors of oo and ov, which each rank stores while it reads operands
  /// Memory that each rank needs for the check of the input. If irreps forbid elements of ovvv, the check makes these
  /// elements, and needs a slab of the factors of vv, too.
  double check_bytes = 0.0;
  double sum_bytes = 0.0;  ///< size of the check's sums over products of factors and t2, all ranks together
};
/// Returns the cost for a problem. All members are 0 if its integrals have no factors.
FactorCost factor_cost(const Problem& problem) {
  FactorCost cost;
  const std::int64_t auxiliary = PanelLayout::auxiliary_of(problem);
  if (auxiliary == 0) return cost;
  const TileSpace& tiles = problem.right->tiles();
  bool irreps = false;
  for (const Tile& tile : tiles.tiles()) irreps = irreps || tile.irrep != tiles[0].irrep;
  const auto naux = static_cast<double>(auxiliary);
  const auto size = [&](OrbitalClass c) { return static_cast<double>(tiles.orbitals(c)); };
  double holes = 0.0, particles = 0.0;  // orbitals of all spins that have factors of their own
  double slab_bytes = 0.0;
  for (const Spin spin : distinct_spins(tiles.restricted())) {
    const double o = size(hole_class(spin)), v = size(particle_class(spin));
    cost.bytes += sizeof(double) * naux * (o * (o + 1.0) / 2.0 + o * v);
    cost.sum_bytes += sizeof(double) * naux * o * v;
    const auto slab =
        static_cast<double>(FactorIrreps::slab_particles(static_cast<std::int64_t>(o), static_cast<std::int64_t>(v)));
    if (irreps) slab_bytes = std::max(slab_bytes, sizeof(double) * naux * v * slab);
    holes += o;
    particles += v;
  }
  cost.check_bytes = cost.bytes + slab_bytes;
  const double pairs = holes * particles;
  cost.check = 6.0 * naux * pairs * pairs + (irreps ? naux * pairs * particles * particles : 0.0);
  return cost;
}

/// Returns the peak memory of a rank that stores operands, without GPU memory. The operands and factors of `prediction`
/// must be set. `made`: size of the panels that CPU cores make from factors. `tasks`: number of tasks. `sums`: size of
/// FactorCost::sum_bytes in each rank.
double peak_bytes(const Prediction& prediction, double made, double tasks, double sums) {
  const JobShape& job = prediction.job;
  // Each rank that shares operands reads a part of the factors. The ranks exchange these parts.
  const double exchanged =
      prediction.shared_operands ? std::min<double>(exchanged_factor_bytes, prediction.factor_bytes / job.ranks) : 0.0;
  const double computing =
      prediction.operand_bytes + std::max(prediction.factor_bytes + exchanged, made + prediction.fetched_bytes);
  const double with_gpus = process_bytes_with_gpus + (prediction.factor_bytes > 0.0 ? factor_buffer_bytes : 0.0);
  return std::max(computing, prediction.factor_check_bytes + sums + exchanged) +
         (job.gpus > 0 ? with_gpus : process_bytes + prediction.sum_bytes) + bytes_per_task * tasks;
}

/// Writes a sentence if the panels of a task do not fit into the memory of a GPU. `what`: the task.
void find_large_tasks(const GpuMemory& gpu, const char* what, Prediction& prediction) {
  if (prediction.job.gpus == 0 || gpu.task_bound <= gpu.launch) return;
  prediction.obstacles.push_back(
      fmt::format("The panels of one task{} take up to {}, but a launch has {} for them: a run would cut the tiles "
                  "further and be slower than predicted; use a smaller --tile-size.",
                  what, format_bytes(gpu.task_bound), format_bytes(std::max(0.0, gpu.launch))));
}

/// Writes a sentence for everything that a run cannot do: what does not fit into memory, and ranks that would need GPUs
/// of several nodes.
void find_obstacles(Prediction& prediction, int nodes, const MachineModel& machine) {
  const int nodes_with_gpus = std::min(nodes, prediction.job.gpus);
  if (prediction.job.ranks < nodes_with_gpus) {
    prediction.obstacles.push_back(
        fmt::format("A rank has GPUs of its own node only: use at least {} ranks.", nodes_with_gpus));
  }
  find_large_tasks(prediction.gpu, "", prediction);
  if (prediction.sample) find_large_tasks(prediction.sample->gpu, " of the sample in double precision", prediction);
  const double ranks_on_node = std::ceil(static_cast<double>(prediction.job.ranks) / nodes),
               with_sums = ranks_on_node - std::min<double>(ranks_on_node, gpus_on_node(prediction.job, nodes));
  const double of_ranks = prediction.node_factor_bytes + prediction.sum_bytes * with_sums,
               needed = prediction.node_bytes + of_ranks;
  if (needed > machine.node_memory) {
    // More nodes share the operands, but each rank has the factors of oo and ov, and the sums of derivatives.
    const double room = machine.node_memory - of_ranks;
    prediction.obstacles.push_back(fmt::format(
        "Operands do not fit: they take {} on each of {} node{}, and a node has {}; {}.", format_bytes(needed), nodes,
        nodes == 1 ? "" : "s", format_bytes(machine.node_memory),
        prediction.shared_operands && room > 0.0
            ? fmt::format("use at least {:.0f} nodes", std::ceil(prediction.node_bytes * nodes / room))
        : prediction.shared_operands ? "use fewer ranks on a node"
                                     : "share them between ranks (--operands shared), or use fewer ranks on a node"));
  }
  const double check = prediction.factor_check_bytes * ranks_on_node;
  if (check > machine.node_memory) {
    prediction.obstacles.push_back(fmt::format(
        "The check of the input does not fit: its ranks store {} of factors on a node, and a node has {}; use fewer "
        "ranks on a node.",
        format_bytes(check), format_bytes(machine.node_memory)));
  }
}

/// Returns the kernel work of all tasks together.
KernelWork work_of(const Inspection& inspection) {
  KernelWork all;
  for (std::size_t t = 0; t < inspection.tasks(); ++t) all += inspection.work(t);
  return all;
}

/// Predicts the sample of mixed precision. `settings`: the settings for the tasks in mixed precision. In the sample
/// GPUs own no panels for their peers, so all panels come from the memory of ranks. It has no derivatives.
void add_sample(const Problem& problem, const Inspection::Sample& of, const MachineModel& machine,
                SimulationSettings settings, Prediction& prediction) {
  Prediction::Sample& sample = prediction.sample.emplace();
  sample.tasks = of.plan.tasks.size();
  Problem of_energies = problem;
  of_energies.derivatives = Derivatives::none;
  sample.gpu = gpu_memory(of.plan, of_energies, of.inspection, machine, prediction.job.gpu_memory);
  const KernelWork all = work_of(of.inspection);
  sample.operations = all.operations;
  // The GPUs are in use already, but another kernel is tested and another memory layout is set up.
  sample.seconds_preparing = machine.startup;
  const double seconds = std::max(1e-9, machine.kernel_seconds(all, of.plan.formulation));
  for (SimulatedRank& rank : settings.ranks) {
    if (rank.gpus > 0) rank.assignment.rate = rank.gpus * all.operations / seconds;
  }
  settings.workers_per_gpu = sample.gpu.workers;
  settings.panel_bytes = std::max(0.0, sample.gpu.panels);
  settings.slab_bytes = sample.gpu.slabs;
  settings.copy_rate = settings.slab_rate;
  settings.panels_from_peers = 0.0;
  settings.exchanging_gpus = 0;
  settings.lanes = 0;
  sample.run = simulate(of.plan, of.inspection, machine, settings);
}

}

GpuMemory gpu_memory(const Plan& plan, const Problem& problem, const Inspection& inspection,
                     const MachineModel& machine, double allowed) {
  const auto multiprocessors = static_cast<int>(machine.multiprocessors);
  const gpu::Shape& shape = inspection.shape();
  std::int64_t worker = gpu::worker_bytes(gpu::scratch_doubles(multiprocessors, problem.targets(), shape.cta_elements),
                                          gpu::sum_bytes(problem, plan.tiles, std::span(&shape, 1)));
  std::int64_t budget = gpu::device_budget(whole_bytes(machine.gpu_memory), whole_bytes(allowed));
  const bool derivatives = problem.derivatives != Derivatives::none;
  const gpu::DerivativeMemory part = derivatives
                                         ? gpu::derivative_memory(problem, plan.tiles, inspection.precision(), budget)
                                         : gpu::DerivativeMemory{plan.tiles, 0, 0};
  worker += part.seeds;
  const gpu::PanelDemand demand = gpu::panel_demand(problem, part.tiles, shape.format);
  budget = std::max<std::int64_t>(0, budget - part.sums);
  const std::int64_t workers = derivatives ? gpu::derivative_workers : gpu::worker_count(budget, worker);
  const std::int64_t panels = gpu::panel_bytes(budget, workers, worker, demand);
  GpuMemory memory;
  memory.budget = static_cast<double>(budget);
  memory.workers = static_cast<int>(workers);
  const std::int64_t slabs = gpu::slab_bytes(budget, workers, worker, demand);
  memory.slabs = static_cast<double>(slabs);
  memory.all_slabs = static_cast<double>(demand.slabs);
  memory.scratch = static_cast<double>(budget - panels - slabs);
  memory.all_panels = inspection.all_bytes_on_device();
  memory.panels = static_cast<double>(std::max<std::int64_t>(0, gpu::cache_bytes(panels, demand)));
  memory.sums = static_cast<double>(part.sums);
  memory.peak = memory.scratch + memory.slabs + memory.panels + memory.sums;
  memory.launch = static_cast<double>(gpu::launch_limit(panels));
  memory.task_bound = static_cast<double>(demand.largest_task);
  memory.working_set = inspection.largest_task_bytes();
  memory.read_ahead = std::max(0.0, memory.panels - memory.working_set);
  return memory;
}

namespace {

/// Divides operands of `operands` bytes between the ranks of `prediction.job`. `owners`: ranks of a node that store
/// shared operands.
void place_operands(double operands, double ranks_on_node, double owners, const MachineModel& machine,
                    Prediction& prediction) {
  const JobShape& job = prediction.job;
  prediction.shared_operands = job.ranks > 1 && job.operands != JobShape::Operands::own;
  if (!prediction.shared_operands) {
    prediction.operand_bytes = operands;
    prediction.node_bytes = operands * ranks_on_node;
    return;
  }
  prediction.node_bytes = operands / job.nodes;
  prediction.operand_bytes = prediction.node_bytes / owners;
  const double room = job.gpus > 0 ? static_cast<double>(DistributedOperands::passed_bytes)
                                   : std::max(0.0, machine.node_memory / ranks_on_node - prediction.operand_bytes);
  prediction.fetched_bytes = std::min(operands - prediction.operand_bytes, room);
}

}

Prediction predict(const Plan& plan, const Problem& problem, const Inspection& inspection, const MachineModel& machine,
                   const JobShape& asked) {
  Prediction prediction;
  const JobShape& job = prediction.job = asked;
  const int nodes = nodes_of(job, machine);
  prediction.job.nodes = nodes;
  if (job.ranks == 0) prediction.job.ranks = nodes;
  const double operands = static_cast<double>(PanelLayout::required_doubles(problem, plan.tiles)) * sizeof(double);
  const double ranks_on_node = std::ceil(static_cast<double>(job.ranks) / nodes);
  // Ranks of a node that store shared operands, see assign_work().
  const double owners = job.gpus > 0 ? std::min(ranks_on_node, gpus_on_node(job, nodes)) : ranks_on_node;
  place_operands(operands, ranks_on_node, owners, machine, prediction);
  const FactorCost factors = factor_cost(problem);
  prediction.factor_bytes = factors.bytes;
  prediction.node_factor_bytes = factors.bytes * ranks_on_node;
  prediction.factor_check_bytes = factors.check_bytes;
  // Ranks with GPUs have their sums there, unless they have a journal.
  prediction.sum_bytes =
      job.gpus >= prediction.job.ranks ? 0.0 : static_cast<double>(derivative_sum_bytes(problem, plan.tiles));
  prediction.gpu = gpu_memory(plan, problem, inspection, machine, job.gpu_memory);
  // Panels that CPU cores make from factors.
  const double made =
      job.gpus > 0 ? 0.0
                   : std::min(static_cast<double>(PanelStore::default_made_bytes),
                              static_cast<double>(PanelLayout::made_doubles(problem, plan.tiles)) * sizeof(double));
  // Ranks exchange the sums, so each rank has its part twice for a moment.
  const double sums = factors.sum_bytes * (job.ranks > 1 ? 2.0 / job.ranks : 1.0);
  prediction.peak_bytes = peak_bytes(prediction, made, static_cast<double>(plan.tasks.size()), sums);

  const KernelWork all = work_of(inspection);
  prediction.operations = all.operations;
  prediction.precision = inspection.precision();
  const MachineModel of_tasks = machine.with_derivatives(problem.derivatives);
  const double gpu_rate =
      all.operations / std::max(1e-9, of_tasks.kernel_seconds(all, plan.formulation, inspection.precision()));

  SimulationSettings settings;
  settings.ranks = ranks_of(job, nodes, of_tasks, gpu_rate, plan.total_operations, operands,
                            prediction.shared_operands ? OperandStorage::shared : OperandStorage::own);
  settings.workers_per_gpu = prediction.gpu.workers;
  settings.panel_bytes = std::max(0.0, prediction.gpu.panels);
  const gpu::PanelDemand demand = gpu::panel_demand(problem, plan.tiles, inspection.shape().format);
  prediction.owned_bytes = owned_for_peers(prediction, inspection, demand, nodes);
  prediction.particle_group =
      gpu::particle_group(whole_bytes(settings.panel_bytes), whole_bytes(prediction.owned_bytes), demand);
  settings.particle_group = prediction.particle_group;
  settings.copy_rate = copy_rate(prediction, nodes, machine);
  settings.slab_bytes = prediction.gpu.slabs;
  settings.slab_rate = rate_from_ranks(prediction, nodes, machine);
  set_exchange(inspection, demand, nodes, prediction, settings);
  settings.lanes = job.lanes;
  prediction.tasks = simulate(plan, inspection, of_tasks, settings);
  if (inspection.sample() != nullptr && job.gpus > 0)
    add_sample(problem, *inspection.sample(), machine, settings, prediction);
  find_obstacles(prediction, nodes, machine);

  const auto tasks = static_cast<double>(plan.tasks.size());
  // The checked amplitudes and integrals have about the size of the operands. Each rank checks a part.
  const double cores = machine.cores_per_node * machine.core_rate * nodes;
  prediction.seconds_checking = operands / (machine.check * nodes) + factors.check / cores;
  prediction.seconds_startup = machine.startup;
  prediction.seconds_planning = tasks * machine.plan_task;
  const double file_bytes = prediction.shared_operands ? job.read_bytes / nodes : job.read_bytes;
  // Processes of a node make their operands concurrently, as far as there are cores.
  const double making = std::clamp(machine.cores_per_node / machine.fill_cores, 1.0, owners);
  const double fill = std::min(machine.fill * making, std::max(machine.fill, machine.fill_node));
  prediction.seconds_loading = prediction.node_bytes / fill + file_bytes / machine.read;
  if (prediction.shared_operands && ranks_on_node > 1) {
    const double files = std::min<double>(owners * segments_of_each_owner(static_cast<int>(owners)), max_files_of_host);
    prediction.seconds_loading += prediction.node_bytes / (machine.shared_pages * files);
  }
  prediction.seconds_loading +=
      (prediction.owned_bytes + prediction.owned_slab_bytes) * gpus_on_node(job, nodes) / machine.owned_panels;
  if (job.ranks > 1) {
    // The energies of all tasks, four numbers for each task, are summed by recursive halving and doubling.
    prediction.seconds_sum = 2.0 * tasks * 4 * sizeof(double) * ranks_on_node / machine.network +
                             2.0 * std::log2(job.ranks) * machine.counter_latency;
  }
  return prediction;
}

RotationPrediction predict_rotation(const RotationCost& cost, const Prediction& prediction,
                                    const MachineModel& machine) {
  const JobShape& job = prediction.job;
  const double ranks = job.ranks;
  const double seconds = cost.operations / (machine.cores_per_node * job.nodes * machine.core_rate);
  if (!prediction.shared_operands) return {cost.bytes + cost.factor_bytes, cost.peak(1), seconds * ranks};
  // Data lie evenly on all ranks. A rank fetches its share twice: between the rotations of the two pairs of indices,
  // and for operands.
  const double owned = cost.bytes / ranks, fetched = 2.0 * owned * (1.0 - 1.0 / ranks);
  return {owned + cost.factor_bytes, cost.peak(job.ranks),
          seconds + fetched / rate_from_others(ranks, job.nodes, machine)};
}

DressingPrediction predict_dressing(const TileSpace& tiles, int moments, int sides, std::int64_t auxiliary) {
  double numbers = 0.0, operations = 0.0, elements = 0.0, factors = 0.0;
  // The main terms: o^2 v^4 of exchanges of a hole and a particle, o^3 v^3, o^4 v^2. A closed shell has one kind of
  // integrals and 3, 5 and 5 terms; spins have four kinds, those of equal spins with 3, those of opposite spins with 4.
  for (const Spin s : {Spin::alpha, Spin::beta}) {
    for (const Spin t : {Spin::alpha, Spin::beta}) {
      if (tiles.restricted() && (s == Spin::beta || t == Spin::alpha)) continue;
      const auto o = static_cast<double>(tiles.orbitals(hole_class(s))),
                 v = static_cast<double>(tiles.orbitals(particle_class(s)));
      const auto p = static_cast<double>(tiles.orbitals(hole_class(t))),
                 w = static_cast<double>(tiles.orbitals(particle_class(t)));
      numbers += o * v * (w * w + p * p);
      const double exchanges = tiles.restricted() || s == t ? 3.0 : 4.0, others = exchanges + 2.0;
      operations += 2.0 * o * v * p * w * (exchanges * v * w + others * (o * w + o * p));
      // Integrals: ovvv, ovoo, ovov, oovv, oooo, and kvvv, for which one factor is multiplied with t1 first.
      elements += o * v * (2.0 * w * w + p * p + p * w + v) + o * o * (w * w + p * p);
      if (s == t || tiles.restricted()) factors += o * (o + 1.0) / 2.0 + o * v + v * (v + 1.0) / 2.0;
    }
  }
  const auto naux = static_cast<double>(auxiliary);
  return {(sides * numbers + naux * factors) * sizeof(double), moments * operations + 2.0 * naux * elements};
}

}
