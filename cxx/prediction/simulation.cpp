#include "cxx/prediction/simulation.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "cxx/base/communicator.hpp"
#include "cxx/cuda/schedule/batch_size.hpp"
#include "cxx/parallel/task_run.hpp"
#include "cxx/plan/task_order.hpp"
#include "cxx/prediction/panel_memory.hpp"
#include "cxx/prediction/slab_owners.hpp"

namespace trifuse {

namespace {

/// The most bits that the simulation uses to record which panels each GPU has received.
constexpr double max_bits = 8e9;

/// A communicator that has nothing but the shared counter of all ranks.
class SimulatedCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::int64_t fetch_add(int, std::int64_t amount) override {
    ++calls_;
    const std::int64_t before = counter_;
    counter_ += amount;
    return before;
  }
  void allreduce_sum(std::span<double>) override {}
  std::int64_t calls() const { return calls_; }

 private:
  std::int64_t counter_ = 0, calls_ = 0;
};

struct Batch {
  std::size_t first, last;  ///< tasks [first, last) in the order of the run
};

struct Process {
  DynamicScheduler scheduler;
  std::vector<Batch> batches;
  std::size_t next = 0;
  int workers;
  double rate;
  double claimed = 0.0;  ///< time of the answer to its last claim; its threads claim one after another
  bool begun = false, no_more_chunks = false;
};

struct Gpu {
  Gpu(double panel_bytes, double slab_bytes) : memory(panel_bytes), slabs(slab_bytes) {}
  PanelMemory memory, slabs;
  std::vector<bool> had, had_slabs;
  int in_group = 0;  ///< number among the GPUs that exchange slabs with each other
  double copies_end = 0.0, kernels_end = 0.0, bytes = 0.0;
  int lane = -1;
};

struct Worker {
  std::size_t process;
  int gpu;  ///< number of the GPU; -1: cores
};

class Simulator {
 public:
  Simulator(const Plan& plan, const Inspection& inspection, const MachineModel& machine,
            const SimulationSettings& settings)
      : order_(grouped_order(plan.tasks, plan.tiles, settings.particle_group)),
        inspection_(inspection),
        machine_(machine),
        settings_(settings) {
    for (const KernelWork& work : inspection.kinds())
      seconds_of_kind_.push_back(machine.kernel_seconds(work, plan.formulation, inspection.precision()));
    making_share_ = inspection.all_making() / std::max(1.0, plan.total_operations);
    std::vector<double> rates;
    for (const SimulatedRank& rank : settings.ranks) {
      rates.push_back(rank.assignment.role == RankAssignment::Role::idle ? 0.0 : rank.assignment.rate);
    }
    const Plan ordered = part_of(plan, order_);
    operations_ = ordered.operations;
    auto chunk_list = std::make_shared<const WorkChunkList>(make_work_chunks(ordered, ranks_to_divide_for(rates)));
    result_.chunks = std::ssize(chunk_list->chunks());
    const double total_rate = std::accumulate(rates.begin(), rates.end(), 0.0);
    for (const SimulatedRank& rank : settings.ranks) {
      RankAssignment assignment = rank.assignment;
      assignment.total_rate = total_rate;
      const int workers = rank.gpus > 0 ? rank.gpus * settings.workers_per_gpu : 1;
      processes_.push_back(
          {DynamicScheduler(communicator_, chunk_list, assignment), {}, 0, workers, rank.assignment.rate, 0.0});
      const bool idle = rank.assignment.role == RankAssignment::Role::idle;
      for (int w = 0; w < workers && !idle; ++w) {
        // The workers of a process belong to its GPUs in turn.
        const int gpu = rank.gpus > 0 ? result_.gpus + w % rank.gpus : -1;
        workers_.push_back({processes_.size() - 1, gpu});
      }
      if (rank.gpus == 0 && !idle) ++result_.core_ranks;
      result_.gpus += rank.gpus;
    }
    make_gpus();
    count_needed_ = static_cast<double>(result_.gpus) * static_cast<double>(inspection.panel_count()) < max_bits;
    for (Gpu& gpu : gpus_) {
      if (!count_needed_) break;
      gpu.had.assign(inspection.panel_count(), false);
      gpu.had_slabs.assign(inspection.slab_count(), false);
      result_.bytes_needed += gpu.bytes;
    }
    const int lanes = std::min(settings.lanes, result_.gpus);
    for (int lane = 0; lane < lanes; ++lane) {
      const int gpu = static_cast<int>(std::int64_t{result_.gpus} * lane / lanes);
      gpus_[static_cast<std::size_t>(gpu)].lane = lane;
      result_.lanes.push_back(gpu);
    }
  }

  Simulation run() {
    using Event = std::pair<double, std::size_t>;  // time at which a worker is free, and its number
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    // The first worker of a process claims for all its workers. The others wait for the answer, so a process without
    // work costs one event.
    for (std::size_t w = 0; w < workers_.size(); w += workers_of(w)) events.emplace(0.0, w);
    std::vector<double> core_end;
    while (!events.empty()) {
      const auto [now, w] = events.top();
      events.pop();
      const Worker& worker = workers_[w];
      Process& process = processes_[worker.process];
      const std::optional<double> end = worker.gpu >= 0 ? on_gpu(worker, now) : on_cores(worker, now);
      if (!process.begun && !process.no_more_chunks) {
        for (std::size_t n = 1; n < workers_of(w); ++n) events.emplace(process.claimed, w + n);
      }
      process.begun = true;
      if (end) {
        events.emplace(*end, w);
      } else if (worker.gpu < 0) {
        core_end.push_back(now);
      }
    }
    result_.counter_calls = communicator_.calls();
    std::vector<double> ends;
    for (const Gpu& gpu : gpus_) {
      ends.push_back(gpu.kernels_end);
      result_.bytes_sent += gpu.bytes;
      result_.max_bytes_sent = std::max(result_.max_bytes_sent, gpu.bytes);
      result_.max_held = std::max(result_.max_held, gpu.memory.max_held());
      result_.panels_dropped += gpu.memory.dropped();
    }
    if (ends.empty()) ends = core_end;
    result_.first_idle = ends.empty() ? 0.0 : *std::min_element(ends.begin(), ends.end());
    for (const double end : ends) result_.seconds = std::max(result_.seconds, end);
    for (const double end : core_end) result_.seconds = std::max(result_.seconds, end);
    for (const Gpu& gpu : gpus_) result_.idle_at_end += result_.seconds - gpu.kernels_end;
    return std::move(result_);
  }

 private:
  /// Makes the GPUs. Each GPU has the slabs that it owns.
  void make_gpus() {
    const int here = settings_.exchanging_gpus;
    if (here > 0) slab_owners_ = slab_owners(inspection_, here, settings_.owned_slab_limit);
    for (int g = 0; g < result_.gpus; ++g) {
      const int in_group = here > 0 ? g % here : 0;
      const auto of_group = [&](const std::vector<double>& bytes) {
        return here > 0 ? bytes[static_cast<std::size_t>(in_group)] : 0.0;
      };
      Gpu& gpu = gpus_.emplace_back(settings_.panel_bytes, settings_.slab_bytes - of_group(slab_owners_.memory));
      gpu.in_group = in_group;
      gpu.bytes = of_group(slab_owners_.bytes);
      result_.slabs_sent += std::count(slab_owners_.owner.begin(), slab_owners_.owner.end(), in_group);
    }
  }

  /// Returns the number of workers of the process that has worker `w`.
  std::size_t workers_of(std::size_t w) const {
    return static_cast<std::size_t>(processes_[workers_[w].process].workers);
  }

  /// Claims the next chunks of a process. Sets `now` to the time at which the claim is answered.
  std::vector<WorkChunk> claim(Process& process, double& now) {
    const std::int64_t before = communicator_.calls();
    std::vector<WorkChunk> chunks = process.scheduler.next();
    process.no_more_chunks = chunks.empty();
    const auto calls = static_cast<double>(communicator_.calls() - before);
    if (settings_.ranks.size() == 1) return chunks;  // a single rank needs no counter
    const double begin = std::max(now, counter_free_);
    counter_free_ = begin + calls * machine_.counter_service;
    const double end = counter_free_ + calls * machine_.counter_latency;
    result_.counter_waiting += end - now;
    process.claimed = now = end;
    return chunks;
  }

  void make_batches(const std::vector<WorkChunk>& chunks, Process& process) const {
    process.batches.clear();
    process.next = 0;
    for (const WorkChunk& chunk : chunks) add_batches(chunk, process);
  }

  void add_batches(const WorkChunk& chunk, Process& process) const {
    const double enough = batch_operations(chunk.operations, process.workers);
    double operations = enough;
    for (std::size_t t = chunk.first; t < chunk.last; ++t) {
      if (operations >= enough) {
        process.batches.push_back({t, t});
        operations = 0.0;
      }
      process.batches.back().last = t + 1;
      operations += operations_[t];
    }
  }

  std::optional<double> on_cores(const Worker& worker, double now) {
    Process& process = processes_[worker.process];
    const std::vector<WorkChunk> chunks = claim(process, now);
    if (chunks.empty()) return std::nullopt;
    double operations = 0.0;
    for (const WorkChunk& chunk : chunks) operations += chunk.operations;
    // A rank makes the panels of its tasks. It makes each panel once.
    const double making = operations * making_share_;
    const double seconds = (operations + making) / process.rate;
    result_.made_operations += making;
    result_.core_busy += seconds;
    result_.core_operations += operations;
    return now + seconds;
  }

  std::optional<double> on_gpu(const Worker& worker, double now) {
    Process& process = processes_[worker.process];
    if (process.next == process.batches.size()) {
      // As in a run, a process does not ask again after an empty answer.
      if (process.no_more_chunks) return std::nullopt;
      if (process.claimed > now) return process.claimed;  // waits for the claim of another worker
      const std::vector<WorkChunk> chunks = claim(process, now);
      if (chunks.empty()) return std::nullopt;
      make_batches(chunks, process);
    }
    const Batch batch = process.batches[process.next++];
    ++result_.batches;
    Gpu& gpu = gpus_[static_cast<std::size_t>(worker.gpu)];
    double kernel = 0.0;
    Demand demand;
    for (std::size_t position = batch.first; position < batch.last; ++position) {
      const std::size_t t = order_[position];
      kernel += seconds_of_kind_[inspection_.kind(t)];
      for (const std::uint32_t panel : inspection_.panels(t)) {
        if (!gpu.memory.use(panel, inspection_.bytes_on_device(panel))) bring(panel, gpu, demand);
      }
    }
    double ready = now + static_cast<double>(batch.last - batch.first) * machine_.prepare_task;
    if (demand.seconds > 0.0) {
      const double begin = std::max(ready, gpu.copies_end);
      ready = gpu.copies_end = begin + demand.seconds;
      gpu.bytes += demand.bytes;
      result_.copy_busy += ready - begin;
      record_span(worker.gpu, begin, ready, true);
    }
    const double begin = std::max(ready, gpu.kernels_end) + machine_.launch;
    // Products of factors and packing wait until the kernel of another launch leaves the multiprocessors.
    const double making = demand.operations / machine_.rate_factors;
    const double packing = demand.packed_bytes / machine_.memory_rate;
    gpu.kernels_end = begin + packing + making + kernel;
    result_.gpu_busy += making + kernel;
    result_.making_busy += making;
    result_.made_operations += demand.operations;
    record_span(worker.gpu, begin, gpu.kernels_end, false);
    return gpu.kernels_end;
  }

  /// What the panels of a launch need: the bytes that are sent to the GPU, the time of these copies, the operations
  /// that make panels, and the bytes that packing reads and writes.
  struct Demand {
    double bytes = 0.0, seconds = 0.0, operations = 0.0, packed_bytes = 0.0;
  };

  /// Adds the demand of a panel that is not on a GPU.
  void bring(std::uint32_t panel, Gpu& gpu, Demand& demand) {
    const std::span<const std::uint32_t> slabs = inspection_.slabs(panel);
    const auto send = [&](double bytes, double rate, std::vector<bool>& had, std::uint32_t number) {
      demand.bytes += bytes;
      demand.seconds += bytes / rate;
      if (!count_needed_ || had[number]) return;
      had[number] = true;
      result_.bytes_needed += bytes;
    };
    send(inspection_.bytes_sent(panel), slabs.empty() ? settings_.copy_rate : settings_.slab_rate, gpu.had, panel);
    if (slabs.empty()) result_.bytes_from_peers += settings_.panels_from_peers * inspection_.bytes_sent(panel);
    for (const std::uint32_t slab : slabs) {
      const int owner = slab_owners_.owner.empty() ? -1 : slab_owners_.owner[slab];
      const double bytes = inspection_.slab_bytes(slab);
      if ((owner >= 0 && owner == gpu.in_group) || gpu.slabs.use(slab, bytes)) continue;
      if (owner < 0) {
        send(bytes, settings_.slab_rate, gpu.had_slabs, slab);
        ++result_.slabs_sent;
      } else {
        send(bytes, machine_.peer, gpu.had_slabs, slab);
        result_.bytes_from_peers += bytes;
        ++result_.slabs_from_peers;
      }
    }
    demand.operations += inspection_.making(panel);
    demand.packed_bytes += inspection_.bytes_sent(panel) + inspection_.bytes_on_device(panel);
  }

  void record_span(int gpu, double begin, double end, bool copy) {
    if (gpus_[static_cast<std::size_t>(gpu)].lane >= 0) result_.spans.push_back({gpu, begin, end, copy});
  }

  std::vector<std::size_t> order_;  ///< [position] number of a task of the inspected plan
  std::vector<double> operations_;  ///< [position] operations of this task
  const Inspection& inspection_;
  const MachineModel& machine_;
  const SimulationSettings& settings_;
  SimulatedCommunicator communicator_;
  std::vector<double> seconds_of_kind_;
  std::vector<Process> processes_;
  std::vector<Gpu> gpus_;
  SlabOwners slab_owners_;  ///< empty if GPUs exchange no slabs
  std::vector<Worker> workers_;
  bool count_needed_ = false;
  double making_share_ = 0.0;  ///< operations that make each panel once, divided by the operations of all tasks
  double counter_free_ = 0.0;
  Simulation result_;
};

}

double Simulation::efficiency() const {
  if (seconds <= 0.0) return 1.0;
  return gpus > 0 ? gpu_busy / (gpus * seconds) : core_busy / (std::max(1, core_ranks) * seconds);
}

Simulation simulate(const Plan& plan, const Inspection& inspection, const MachineModel& machine,
                    const SimulationSettings& settings) {
  return Simulator(plan, inspection, machine, settings).run();
}

}
