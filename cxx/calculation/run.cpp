#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
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
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/derivatives.hpp"
#include "cxx/calculation/devices.hpp"
#include "cxx/calculation/energy_sums.hpp"
#include "cxx/calculation/executors.hpp"
#include "cxx/calculation/fingerprint.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/result_check.hpp"
#include "cxx/calculation/sample.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/distributed_operands.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/peer_exchange.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "cxx/plan/complete_sums.hpp"

namespace trifuse {

namespace {

PanelExchange* exchange_of(Executor* executor) {
  PanelExecutor* const reader = panel_executor(executor);
  return reader != nullptr ? reader->exchange() : nullptr;
}

/// Opens the journal of the options; null if there is none. Collective if there is a communicator.
std::unique_ptr<Journal> open_journal(const CalculationState& state) {
  if (state.options.journal.empty()) return nullptr;
  const OpenMpThreads threads(state.memory.threads);
  const Precision precision = state.options.precision;
  // A task in mixed precision has its number in the plan. The same task in double precision follows after all tasks.
  const std::size_t records = state.plan.tasks.size() * (precision == Precision::mixed ? 2 : 1);
  const JournalKey key{fingerprint(state.problem, state.communicator, precision), state.tiling, records,
                       state.problem.quotients.size()};
  return std::make_unique<Journal>(state.options.journal, key, state.communicator, !state.idle());
}

/// One run of a calculation.
class Run {
 public:
  /// Parameters: as of Calculation::run().
  Run(const CalculationState& state, const std::atomic<bool>* stop, std::function<void(const RunProgress&)> progress,
      std::function<void(const std::string&)> warn);
  CalculationResult compute(const std::function<void(CalculationResult&)>& report);

 private:
  /// Warns of something that all ranks know.
  void tell(const std::string& sentence) const;
  /// Sets up the executor and reads its operands. Collective if there is a communicator.
  void load();
  /// Sets the panels of this rank, unless the executor can take those that have been read before. Collective if there
  /// is a communicator.
  void read_operands();
  void read_shared_operands(const PanelExecutor* reader);
  /// Returns the tiles that the panels of this rank must have; null: they may have those of any other rank.
  const TileSpace* wanted_tiles(const PanelExecutor* reader) const;
  /// Reduces the threads of the run if the BLAS library has no memory for all of them. Collective if there is a
  /// communicator.
  void limit_threads_of_blas();
  /// Executes the tasks of the plan, and the check of the options beside them if there is one.
  RunOutcome run_tasks_and_check();
  /// Adds warnings to the result if other energies of the input contradict it. Collective if there is a communicator.
  void check_energies(CalculationResult& result) const;
  /// Makes the derivatives of the result from the sums of the tasks. Frees the operands before. Collective if there is
  /// a communicator.
  void make_derivatives_of(RunOutcome& outcome, CalculationResult& result);
  /// Returns the arrays to which the tasks add.
  std::vector<SummedArray> sums_of_tasks();
  /// The executor does not compute any more. It may own panels that other ranks still read.
  void give_up() { failed_executor_ = std::exchange(executor_, nullptr); }

  const CalculationState& state_;
  Communicator* const communicator_;
  std::optional<double> ccsd_energy_;  ///< of the right amplitudes, hartree
  std::unique_ptr<Journal> journal_;   ///< null: there is none
  RunSettings settings_;
  std::optional<DistributedOperands> operands_;  ///< only if ranks share the operands; outlives the panels
  std::shared_ptr<const PanelStore> panels_;     ///< null: this rank takes none
  std::unique_ptr<Executor> executor_, failed_executor_;
  std::optional<TileSpace> common_tiles_;  ///< of the panels of all ranks; only with derivatives and several ranks
  std::optional<PanelLayout> layout_;      ///< of the sums; only with derivatives
};

Run::Run(const CalculationState& state, const std::atomic<bool>* stop, std::function<void(const RunProgress&)> progress,
         std::function<void(const std::string&)> warn)
    : state_(state), communicator_(state.communicator), ccsd_energy_(state.options.ccsd_energy) {
  settings_.threads = settings_.threads_on_cores = state.memory.threads;
  settings_.stop = stop;
  settings_.progress = std::move(progress);
  settings_.warn = std::move(warn);
  settings_.communicator = communicator_;
  settings_.assignment = state.assignment;
  if (state.options.executor != ExecutorKind::cuda) return;
  settings_.threads_on_cores = threads_on_cores(state);
  settings_.on_cores = [this] {
    if (executor_) give_up();
    return make_executor_on_cores(state_, state_.problem, panels_);
  };
}

void Run::tell(const std::string& sentence) const {
  if (settings_.warn && (communicator_ == nullptr || communicator_->rank() == 0)) settings_.warn(sentence);
}

void Run::load() {
  const bool required = communicator_ == nullptr && state_.options.devices_required;
  // GPUs that fail before the first task are not used.
  const auto try_devices = [&](const std::function<void()>& use) {
    run_collectively(communicator_, [&] {
      try {
        use();
      } catch (const DeviceError& error) {
        if (required) throw;
        give_up();
        settings_.failed_device = error.what();
      }
    });
  };
  const Precision precision = precision_of_rank(state_);
  // A process alone reads the operands while its GPUs start, if it is known which panels they will take. Ranks read
  // together, in the tiles of all of them.
  std::optional<TileSpace> likely;
  if (state_.options.executor == ExecutorKind::cuda && communicator_ == nullptr) {
    likely = likely_panel_tiles(state_.problem, state_.plan.tiles, cuda_options(state_.options, precision, false));
  }
  std::vector<std::string> left_out;
  auto begun = std::async(likely ? std::launch::async | std::launch::deferred : std::launch::deferred, [&] {
    return prepare_executor(state_, state_.problem, precision, required ? nullptr : &left_out, settings_.stop);
  });
  if (likely) {
    const OpenMpThreads threads(state_.reading_threads());
    panels_ = read_all_operands(state_, *likely);
  }
  try_devices([&] {
    if (state_.idle()) return;
    executor_ = begun.get();
    if (!left_out.empty()) settings_.failed_device = left_out.front();
  });
  read_operands();
  try_devices([&] {
    const OpenMpThreads threads(state_.memory.threads);
    if (PanelExecutor* const reader = panel_executor(executor_.get())) reader->take_panels(panels_);
  });
  if (operands_) open_peer_exchange(*communicator_, exchange_of(executor_.get()), try_devices);
  limit_threads_of_blas();
}

void Run::read_operands() {
  const PanelExecutor* const reader = panel_executor(executor_.get());
  if (panels_ != nullptr && (reader == nullptr || panels_->tiles() == reader->panel_tiles())) return;
  panels_ = nullptr;  // frees its memory for panels with the right tiles
  const OpenMpThreads threads(state_.reading_threads());
  constexpr std::int64_t large = std::int64_t{64} << 20;
  const auto trim = [&] {
    if (state_.options.executor == ExecutorKind::cpu && state_.memory.operands >= large) return_freed_memory();
  };
  trim();
  if (communicator_ != nullptr && state_.problem.derivatives != Derivatives::none) {
    // All ranks have sums of one layout.
    common_tiles_ = finest_tiles(*communicator_, state_.plan.tiles, wanted_tiles(reader));
    if (!common_tiles_) common_tiles_ = cpu_panel_tiles(state_.plan.tiles);
  }
  if (state_.memory.shared) {
    read_shared_operands(reader);
  } else {
    run_collectively(communicator_, [&] {
      if (reader != nullptr) panels_ = read_all_operands(state_, *reader, common_tiles_);
    });
  }
  trim();  // frees the buffers of the readers
}

const TileSpace* Run::wanted_tiles(const PanelExecutor* reader) const {
  if (common_tiles_) return &*common_tiles_;
  // In a run with GPUs, CPU ranks use the panels that are tiled for GPUs, unless no GPU is left.
  return reader != nullptr && !state_.beside_gpus() ? &reader->panel_tiles() : nullptr;
}

void Run::read_shared_operands(const PanelExecutor* reader) {
  const MemoryPlan& memory = state_.memory;
  const auto read = [&](const TileSpace* tiles, std::int64_t bytes_of_others) {
    operands_.emplace(*communicator_, state_.problem, state_.plan.tiles, tiles, state_.assignment.operands,
                      memory.for_operands, bytes_of_others, memory.limit_of_made());
    panels_ = operands_->panels();
  };
  constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
  // If the GPUs store the panels, or if this rank computes few tasks, it uses fetched panels only once.
  const bool pass = state_.assignment.threads_share_task || (reader != nullptr && reader->caches_panels());
  read(wanted_tiles(reader),
       pass ? std::max(DistributedOperands::passed_bytes, 8 * memory.in_use_per_thread) : unlimited);
  if (panels_ != nullptr) return;
  const TileSpace on_cores = cpu_panel_tiles(state_.plan.tiles);
  read(&on_cores, unlimited);
}

void Run::limit_threads_of_blas() {
  run_collectively(communicator_, [&] {
    if (state_.options.executor != ExecutorKind::cpu || state_.idle()) return;
    const int wanted = state_.memory.threads;
    const int threads = threads_with_blas_memory(wanted, state_.memory.scratch_per_thread);
    if (!state_.assignment.threads_share_task) {
      settings_.threads = settings_.threads_on_cores = threads;
    } else if (threads < wanted) {
      throw SystemError(
          fmt::format("The memory is enough for only {} of {} threads; give fewer --threads.", threads, wanted));
    }
  });
}

std::vector<SummedArray> Run::sums_of_tasks() {
  if (state_.problem.derivatives == Derivatives::none) return {};
  // A rank that computes nothing, or whose GPUs have failed, may have no panels.
  layout_.emplace(layout_of_derivatives(state_.problem, common_tiles_        ? *common_tiles_
                                                        : panels_ != nullptr ? panels_->tiles()
                                                                             : cpu_panel_tiles(state_.plan.tiles)));
  return derivative_sums(*layout_);
}

void Run::make_derivatives_of(RunOutcome& outcome, CalculationResult& result) {
  if (!layout_) return;
  executor_ = nullptr;
  failed_executor_ = nullptr;
  panels_ = nullptr;
  run_collectively(communicator_, [&] {
    const std::int64_t bytes = derivative_sum_bytes(state_.problem, layout_->tiles());
    (outcome.first_array == nullptr ? result.sum_bytes : result.gpu_sum_bytes) = bytes;
    auto sums = std::move(outcome.sums);
    std::shared_ptr<const CompleteSums> operands = std::move(outcome.first_array);
    if (!state_.options.wants_derivatives) return;  // frees the sums: another rank may need the memory
    if (operands == nullptr) operands = std::make_shared<HostSums>(std::move(sums[DerivativeSums::operands]));
    const CheckedDerivatives made =
        make_derivatives(state_.problem, *layout_, std::move(operands), sums, result.energies.front().total,
                         state_.options.precision, state_.memory.threads);
    result.derivatives = made.arrays;
    if (state_.options.precision == Precision::mixed) result.derivatives_error = made.error;
  });
}

RunOutcome Run::run_tasks_and_check() {
  RunSettings settings = settings_;
  const ResultShape shape(state_.problem.quotients.size(), sums_of_tasks());
  const auto execute = [&] { return run_tasks(state_.plan, executor_.get(), shape, settings); };
  if (!state_.options.check_beside_tasks) return execute();
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
      ccsd_energy_ = state_.options.check_beside_tasks();
    } catch (...) {
      refused = true;
      throw;
    }
  });
  return outcome;
}

void Run::check_energies(CalculationResult& result) const {
  if (state_.options.right_operands != nullptr) return;  // the energies are those of no method
  CalculationOptions options = state_.options;
  options.ccsd_energy = ccsd_energy_;
  run_collectively(communicator_, [&] {
    for (std::string& sentence : check_result(state_.problem, options, result)) {
      tell(sentence);
      result.warnings.push_back(std::move(sentence));
    }
  });
}

CalculationResult Run::compute(const std::function<void(CalculationResult&)>& report) {
  CalculationResult result;
  const auto warn = [&](const std::string& sentence) {
    tell(sentence);
    result.warnings.push_back(sentence);
  };
  for (const std::string& sentence : state_.warnings) warn(sentence);
  const double begin = wall_seconds();
  make_sources(state_, settings_.stop);
  if (const std::string sentence = warning_of_denominators(state_); !sentence.empty()) warn(sentence);
  const double rotated = wall_seconds();
  journal_ = open_journal(state_);
  settings_.journal = journal_.get();
  if (journal_ && !journal_->warning().empty()) warn(journal_->warning());
  const double start = wall_seconds();
  load();
  const double loaded = wall_seconds();
  RunOutcome outcome = run_tasks_and_check();
  Executor* const used = executor_ ? executor_.get() : failed_executor_.get();
  const std::int64_t from_peers = operands_ ? close_peer_exchange(*communicator_, exchange_of(used)) : 0;
  if (used != nullptr) result.device_report = used->device_report();
  std::optional<DeviceMemoryKeeper> keeper;
  if (state_.options.precision == Precision::mixed) {
    keeper.emplace();  // keeps the memory that this executor frees for the next one
    const bool gpus_failed = executor_ == nullptr;
    executor_ = nullptr;
    failed_executor_ = nullptr;
    compute_sample(state_, settings_, gpus_failed, panels_, outcome, result);
  } else {
    result.energies = sum_energies(state_, outcome.energies);
    result.tasks_in_double = state_.plan.tasks.size();
  }
  result.seconds_journal = start - rotated;
  result.seconds_loading = rotated - begin + loaded - start;
  result.seconds_tasks = wall_seconds() - loaded;
  make_derivatives_of(outcome, result);
  if (operands_) result.traffic = operands_->traffic(*communicator_, from_peers);
  result.peak_bytes = peak_memory(communicator_ != nullptr);
  result.tasks = state_.plan.tasks.size();
  result.tasks_from_journal = outcome.from_journal;
  result.tasks_from_other_kind = outcome.from_other_kind;
  result.operations = outcome.operations;
  result.ranks = std::move(outcome.ranks);
  result.warnings.insert(result.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  check_energies(result);
  if (report) report(result);
  return result;
}

}

CalculationResult Calculation::run(const std::atomic<bool>* stop, std::function<void(const RunProgress&)> progress,
                                   std::function<void(const std::string&)> warn,
                                   const std::function<void(CalculationResult&)>& report) const {
  return Run(*state_, stop, std::move(progress), std::move(warn)).compute(report);
}

}
