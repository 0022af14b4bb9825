#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <utility>

#include "cxx/base/address_space.hpp"
#include "cxx/base/blas.hpp"
#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/hosts.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/context.hpp"
#include "cxx/calculation/fingerprint.hpp"
#include "cxx/calculation/result_check.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/operands/distributed_operands.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/parallel/peer_exchange.hpp"
#include "cxx/rotation/semicanonical.hpp"

/// Runs the plan of context.cpp.
namespace trifuse {

namespace {

/// Adds the energies of a task to its spin cases. In a restricted space, aaa = bbb and aab = abb by spin symmetry.
void add_task(const TileSpace& tiles, const Task& task, const TaskEnergy& energy, std::array<Energies, 4>& cases) {
  const auto of_case = [&](SpinCase spin_case) -> Energies& { return cases[static_cast<std::size_t>(spin_case)]; };
  if (tiles.restricted()) {
    of_case(SpinCase::aaa) += 0.5 * energy.same;
    of_case(SpinCase::bbb) += 0.5 * energy.same;
    of_case(SpinCase::aab) += 0.5 * energy.mixed;
    of_case(SpinCase::abb) += 0.5 * energy.mixed;
  } else {
    of_case(task.spin_case) += energy.same + energy.mixed;
  }
}

PanelExchange* exchange_of(const PreparedExecutor& of) {
  return of.reader != nullptr ? of.reader->exchange() : nullptr;
}

}

void CalculationContext::rotate_orbitals(const std::atomic<bool>* stop,
                                         const std::function<void(const std::string&)>& warn) const {
  if (warn) std::for_each(warnings_.begin(), warnings_.end(), warn);
  const OpenMpThreads threads(std::max(threads_, assignment_.reading_threads));
  for (SemicanonicalSource* source : {semicanonical_right_.get(), semicanonical_left_.get()}) {
    if (source != nullptr) source->rotate(communicator_, stop);
  }
}

std::unique_ptr<Executor> CalculationContext::make_executor() const {
  rotate_orbitals(nullptr);
  const OpenMpThreads threads(threads_);
  PreparedExecutor prepared = prepare_executor(precision_of_rank(), nullptr, nullptr);
  if (prepared.reader != nullptr) {
    prepared.reader->take_panels(read_all_operands(*prepared.reader));
  }
  return std::move(prepared.executor);
}

std::unique_ptr<CudaExecutor> CalculationContext::make_cuda_executor() const {
  if (options_.executor != ExecutorKind::cuda) throw UsageError("This calculation is not planned for GPUs.");
  rotate_orbitals(nullptr);
  const OpenMpThreads threads(threads_);
  std::unique_ptr<CudaExecutor> executor = prepare_on_devices(precision_of_rank(), nullptr, nullptr);
  executor->take_panels(read_all_operands(*executor));
  return executor;
}

std::shared_ptr<const PanelStore> CalculationContext::read_all_operands(const PanelExecutor& reader) const {
  if (reader.reads_sources()) return PanelStore::of_small_arrays(problem_, reader.panel_tiles());
  return read_all_operands(reader.panel_tiles());
}

std::shared_ptr<const PanelStore> CalculationContext::read_all_operands(const TileSpace& tiles) const {
  auto panels = std::make_shared<PanelStore>(problem_, tiles);
  panels->limit_made_panels(memory_for_made_panels());
  return panels;
}

CalculationContext::BegunExecutor CalculationContext::begin_executor(
    const std::function<PreparedExecutor()>& prepare) const {
  // Ranks read together, in the tiles of all of them.
  const bool alone = options_.executor == ExecutorKind::cuda && communicator_ == nullptr;
  const std::optional<TileSpace> tiles =
      alone ? likely_panel_tiles(problem_, plan_.tiles, cuda_options(precision_of_rank(), nullptr, nullptr))
            : std::nullopt;
  if (!tiles) return {std::async(std::launch::deferred, prepare), nullptr};
  BegunExecutor begun{std::async(std::launch::async | std::launch::deferred, prepare), nullptr};
  const OpenMpThreads threads(std::max(threads_, assignment_.reading_threads));
  begun.panels = read_all_operands(*tiles);
  return begun;
}

Precision CalculationContext::precision_of_rank() const {
  const bool beside_gpus = options_.executor == ExecutorKind::cpu && of_rank_.plan_for == ExecutorKind::cuda;
  return beside_gpus ? Precision::fp64 : options_.precision;
}

CudaOptions CalculationContext::cuda_options(Precision precision, std::vector<std::string>* left_out,
                                             const std::atomic<bool>* stop) const {
  CudaOptions options;
  options.devices.clear();
  for (const DeviceInfo& device : devices_) options.devices.push_back(device.number);
  options.memory_per_device = options_.memory.value_or(0);
  options.precision = precision;
  // A kernel of the user is one of the precision of the options.
  if (precision == options_.precision) options.kernel = options_.kernel;
  options.left_out = left_out;
  options.waits_for_memory = communicator_ == nullptr;
  options.stop = stop;
  return options;
}

std::unique_ptr<CudaExecutor> CalculationContext::prepare_on_devices(Precision precision,
                                                                     std::vector<std::string>* left_out,
                                                                     const std::atomic<bool>* stop) const {
  return prepare_cuda_executor(problem_, plan_.tiles, cuda_options(precision, left_out, stop));
}

PreparedExecutor CalculationContext::prepare_executor(Precision precision, std::vector<std::string>* left_out,
                                                      const std::atomic<bool>* stop) const {
  PreparedExecutor prepared;
  switch (options_.executor) {
    case ExecutorKind::reference:
      prepared.executor = make_reference_executor(problem_, plan_.tiles);
      break;
    case ExecutorKind::cuda: {
      std::unique_ptr<CudaExecutor> on_devices = prepare_on_devices(precision, left_out, stop);
      prepared.reader = on_devices.get();
      prepared.cuda = on_devices.get();
      prepared.executor = std::move(on_devices);
      break;
    }
    case ExecutorKind::cpu: {
      std::unique_ptr<PanelExecutor> on_cores =
          prepare_cpu_executor(problem_, plan_.tiles, {}, assignment_.threads_share_task ? threads_ : 1, precision);
      prepared.reader = on_cores.get();
      prepared.executor = std::move(on_cores);
      break;
    }
  }
  return prepared;
}

std::unique_ptr<Executor> CalculationContext::make_executor_on_cores(std::shared_ptr<const PanelStore> panels) const {
  const OpenMpThreads threads(threads_);
  // Tasks are tiled for GPUs, too large for one thread each. All threads share a task.
  std::unique_ptr<PanelExecutor> executor = prepare_cpu_executor(problem_, plan_.tiles, {}, threads_on_cores());
  if (panels == nullptr || !panels->has_panels()) panels = read_all_operands(*executor);
  executor->take_panels(std::move(panels));
  return executor;
}

std::shared_ptr<const PanelStore> CalculationContext::read_operands(const PanelExecutor* reader,
                                                                    std::shared_ptr<const PanelStore> read_before,
                                                                    std::optional<DistributedOperands>& shared) const {
  if (read_before != nullptr) {
    if (reader == nullptr || read_before->tiles() == reader->panel_tiles()) return read_before;
    read_before = nullptr;  // its memory is for panels with the right tiles
  }
  const OpenMpThreads threads(std::max(threads_, assignment_.reading_threads));
  constexpr std::int64_t large = std::int64_t{64} << 20;
  const auto trim = [&] {
    if (options_.executor == ExecutorKind::cpu && operand_bytes_ >= large) return_freed_memory();
  };
  trim();
  std::shared_ptr<const PanelStore> panels;
  if (!shares_operands()) {
    run_collectively(communicator_, [&] {
      if (reader != nullptr) panels = read_all_operands(*reader);
    });
    trim();  // the buffers of the readers
    return panels;
  }
  // In a run with GPUs, CPU ranks use the panels that are tiled for GPUs, unless no GPU is left.
  const bool of_others = options_.executor == ExecutorKind::cpu && of_rank_.plan_for == ExecutorKind::cuda;
  const TileSpace* const tiles = reader != nullptr && !of_others ? &reader->panel_tiles() : nullptr;
  // If the GPUs store the panels, or if this rank computes few tasks, it uses fetched panels only once.
  const bool pass = assignment_.threads_share_task || (reader != nullptr && reader->caches_panels());
  const std::int64_t room = pass ? std::max(DistributedOperands::passed_bytes, 8 * in_use_per_thread_)
                                 : std::numeric_limits<std::int64_t>::max();
  shared.emplace(*communicator_, problem_, plan_.tiles, tiles, assignment_.operands, memory_for_operands(), room,
                 memory_for_made_panels());
  if (shared->panels() == nullptr) {
    const TileSpace on_cores = cpu_panel_tiles(plan_.tiles);
    shared.emplace(*communicator_, problem_, plan_.tiles, &on_cores, assignment_.operands, memory_for_operands(),
                   std::numeric_limits<std::int64_t>::max(), memory_for_made_panels());
  }
  trim();
  return shared->panels();
}

std::unique_ptr<Journal> CalculationContext::open_journal() const {
  if (options_.journal.empty()) return nullptr;
  const OpenMpThreads threads(threads_);
  // A task in mixed precision has its number in the plan. The same task in double precision follows after all tasks.
  const std::size_t records = plan_.tasks.size() * (options_.precision == Precision::mixed ? 2 : 1);
  const JournalKey key{fingerprint(problem_, communicator_, options_.precision), tiles_, records,
                       problem_.omega2.size()};
  return std::make_unique<Journal>(options_.journal, key, communicator_,
                                   assignment_.role != RankAssignment::Role::idle);
}

void CalculationContext::limit_threads_of_blas(RunSettings& settings) const {
  run_collectively(communicator_, [&] {
    if (options_.executor != ExecutorKind::cpu || assignment_.role == RankAssignment::Role::idle) return;
    const int threads = threads_with_blas_memory(threads_, scratch_per_thread_);
    if (!assignment_.threads_share_task) {
      settings.threads = settings.threads_on_cores = threads;
    } else if (threads < threads_) {
      throw SystemError(
          fmt::format("The memory is enough for only {} of {} threads; give fewer --threads.", threads, threads_));
    }
  });
}

std::vector<TriplesEnergy> CalculationContext::sum_energies(const std::vector<TaskEnergy>& energies) const {
  const std::size_t count = problem_.omega2.size();
  std::vector<TriplesEnergy> sums;
  for (std::size_t w = 0; w < count; ++w) {
    TriplesEnergy energy;
    energy.omega2 = problem_.omega2[w];
    energy.method = method(energy.omega2);
    for (std::size_t t = 0; t < plan_.tasks.size(); ++t) {
      add_task(plan_.tiles, plan_.tasks[t], energies[t * count + w], energy.spin_cases);
    }
    for (const Energies& of_case : energy.spin_cases) energy.total += of_case;
    energy.uncorrected = energy.total;
    sums.push_back(std::move(energy));
  }
  return sums;
}

void CalculationContext::put_outcome(RunOutcome outcome, const std::string& warning, CalculationResult& result) const {
  result.peak_bytes = peak_memory(communicator_ != nullptr);
  result.tasks = plan_.tasks.size();
  result.tasks_from_journal = outcome.from_journal;
  result.tasks_from_other_kind = outcome.from_other_kind;
  result.operations = outcome.operations;
  result.ranks = std::move(outcome.ranks);
  result.warnings = std::move(outcome.warnings);
  if (!warning.empty()) result.warnings.insert(result.warnings.begin(), warning);
  result.warnings.insert(result.warnings.begin(), warnings_.begin(), warnings_.end());
}

RunOutcome CalculationContext::run_tasks_and_check(const Executor* executor, RunSettings settings,
                                                   std::optional<double>& ccsd_energy) const {
  const auto execute = [&] { return run_tasks(plan_, executor, problem_.omega2.size(), settings); };
  if (!options_.check_beside_tasks) return execute();
  RunOutcome outcome;
  std::atomic<bool> refused{false};
  settings.input_refused = &refused;
  // If both fail, on_new_threads() throws the exception of the check.
  constexpr std::size_t check = 0, both = 2;
  on_new_threads(both, [&](std::size_t n) {
    if (n != check) {
      outcome = execute();
      return;
    }
    try {
      ccsd_energy = options_.check_beside_tasks();
    } catch (...) {
      refused = true;
      throw;
    }
  });
  return outcome;
}

RunSettings CalculationContext::settings_of_run(Journal* journal, const std::atomic<bool>* stop,
                                                std::function<void(const RunProgress&)> progress,
                                                std::function<void(const std::string&)> warn) const {
  RunSettings settings;
  settings.threads = settings.threads_on_cores = threads_;
  settings.journal = journal;
  settings.stop = stop;
  settings.progress = std::move(progress);
  settings.warn = std::move(warn);
  settings.communicator = communicator_;
  settings.assignment = assignment_;
  return settings;
}

void CalculationContext::check_energies(CalculationResult& result, std::optional<double> ccsd_energy,
                                        const std::function<void(const std::string&)>& warn) const {
  CalculationOptions options = options_;
  options.ccsd_energy = ccsd_energy;
  run_collectively(communicator_, [&] {
    for (std::string& sentence : check_result(problem_, options, result)) {
      if (warn) warn(sentence);
      result.warnings.push_back(std::move(sentence));
    }
  });
}

CalculationResult CalculationContext::run(const std::atomic<bool>* stop,
                                          std::function<void(const RunProgress&)> progress,
                                          std::function<void(const std::string&)> warn,
                                          const std::function<void(const CalculationResult&)>& report) const {
  CalculationResult result;
  const bool tells = warn && (communicator_ == nullptr || communicator_->rank() == 0);
  const double begin = wall_seconds();
  rotate_orbitals(stop, tells ? warn : nullptr);
  const double rotated = wall_seconds();
  const std::unique_ptr<Journal> journal = open_journal();
  const std::string warning = journal ? journal->warning() : "";
  if (!warning.empty() && tells) warn(warning);
  const double start = wall_seconds();
  result.seconds_journal = start - rotated;
  const bool idle = communicator_ != nullptr && assignment_.role == RankAssignment::Role::idle;
  std::optional<DistributedOperands> operands;
  std::shared_ptr<const PanelStore> panels;
  // A failed executor may own panels that other ranks still read.
  PreparedExecutor executor, failed_executor;
  std::optional<DeviceMemoryKeeper> keeper;
  const auto give_up = [&] { failed_executor = std::exchange(executor, {}); };
  RunSettings settings = settings_of_run(journal.get(), stop, std::move(progress), warn);
  if (options_.executor == ExecutorKind::cuda) {
    settings.threads_on_cores = threads_on_cores();
    settings.on_cores = [&] {
      if (executor) give_up();
      return make_executor_on_cores(panels);
    };
  }
  const bool required = communicator_ == nullptr && options_.devices_required;
  // GPUs that fail before the first task are not used.
  const auto try_devices = [&](const std::function<void()>& use) {
    run_collectively(communicator_, [&] {
      try {
        use();
      } catch (const DeviceError& error) {
        if (required) throw;
        give_up();
        settings.failed_device = error.what();
      }
    });
  };
  std::vector<std::string> left_out;
  BegunExecutor begun =
      begin_executor([&] { return prepare_executor(precision_of_rank(), required ? nullptr : &left_out, stop); });
  try_devices([&] {
    if (idle) return;
    executor = begun.executor.get();
    if (!left_out.empty()) settings.failed_device = left_out.front();
  });
  panels = read_operands(executor.reader, std::move(begun.panels), operands);
  try_devices([&] {
    const OpenMpThreads threads(threads_);
    if (executor.reader != nullptr) executor.reader->take_panels(panels);
  });
  if (operands) open_peer_exchange(*communicator_, exchange_of(executor), try_devices);
  limit_threads_of_blas(settings);
  const double loaded = wall_seconds();
  std::optional<double> ccsd_energy = options_.ccsd_energy;
  RunOutcome outcome = run_tasks_and_check(executor.executor.get(), settings, ccsd_energy);
  const PreparedExecutor& used = executor ? executor : failed_executor;
  const std::int64_t from_peers = operands ? close_peer_exchange(*communicator_, exchange_of(used)) : 0;
  if (used.cuda != nullptr) result.cuda = used.cuda->report();
  if (options_.precision == Precision::mixed) {
    keeper.emplace();  // the memory that this executor frees is for the next one
    const bool on_devices = std::exchange(executor, {}).cuda != nullptr;
    failed_executor = {};
    compute_sample(outcome, settings, on_devices, panels, result);
  } else {
    result.energies = sum_energies(outcome.energies);
    result.tasks_in_double = plan_.tasks.size();
  }
  result.seconds_loading = rotated - begin + loaded - start;
  result.seconds_tasks = wall_seconds() - loaded;
  if (operands) result.traffic = operands->traffic(*communicator_, from_peers);
  put_outcome(std::move(outcome), warning, result);
  check_energies(result, ccsd_energy, tells ? warn : nullptr);
  if (report) report(result);
  return result;
}

}
