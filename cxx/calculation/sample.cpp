#include "cxx/calculation/sample.hpp"

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/energy_sums.hpp"
#include "cxx/calculation/executors.hpp"
#include "cxx/calculation/mixed_energies.hpp"
#include "cxx/parallel/task_run.hpp"

namespace trifuse {

namespace {

/// Adds the work of a rank, or of a process, in a later part of a run.
void add_work(RankWork& sum, const RankWork& more) {
  sum.computed = sum.computed || more.computed;
  sum.device_failed = sum.device_failed || more.device_failed;
  sum.tasks += more.tasks;
  sum.operations += more.operations;
  sum.seconds_busy += more.seconds_busy;
  sum.seconds_idle += more.seconds_idle;
}

void add_work(RunOutcome& sum, RunOutcome more) {
  sum.operations += more.operations;
  for (std::size_t rank = 0; rank < sum.ranks.size(); ++rank) add_work(sum.ranks[rank], more.ranks[rank]);
  std::move(more.warnings.begin(), more.warnings.end(), std::back_inserter(sum.warnings));
}

/// Makes the executor in double precision for this rank. If its GPUs fail, returns null, and `settings.failed_device`
/// gets the reason. `problem`: that of the state without derivatives. `panels`: those of this rank. `on_cores`: true if
/// the GPUs have failed before.
std::unique_ptr<Executor> make_exact_executor(const CalculationState& state, const Problem& problem,
                                              const std::shared_ptr<const PanelStore>& panels, bool on_cores,
                                              RunSettings& settings) {
  if (on_cores) return make_executor_on_cores(state, problem, panels);
  const auto fail = [&](const Error& error) {
    settings.failed_device = error.what();
    return nullptr;
  };
  try {
    std::vector<std::string> left_out;  // not shown: the tasks in mixed precision have warned of these GPUs
    auto executor = prepare_executor(state, problem, Precision::fp64, &left_out, settings.stop);
    if (PanelExecutor* const reader = panel_executor(executor.get())) {
      const bool enough = panels->has_panels() || reader->reads_sources();
      reader->take_panels(enough ? panels : read_all_operands(state, *reader));
    }
    return executor;
  } catch (const DeviceError& error) {
    return fail(error);
  } catch (const UsageError& error) {  // the operands of a task are larger in double precision and may not fit
    if (state.options.executor != ExecutorKind::cuda) throw;
    return fail(error);
  }
}

}

void compute_sample(const CalculationState& state, RunSettings settings, bool gpus_failed,
                    const std::shared_ptr<const PanelStore>& panels, RunOutcome& outcome, CalculationResult& result) {
  const Plan& plan = state.plan;
  const std::size_t omega2_count = state.problem.quotients.size(), all = plan.tasks.size();
  std::vector<bool> in_double;
  for (const WorkerKind kind : outcome.kinds) in_double.push_back(!is_mixed(kind));
  MixedEnergies energies(plan, omega2_count, std::move(outcome.energies), in_double, state.options.target_error);
  const auto tell = std::exchange(settings.progress, {});
  RunProgress before{all, all, plan.total_operations, plan.total_operations};
  if (tell) {
    settings.progress = [&](const RunProgress& now) {
      tell({before.tasks_done + now.tasks_done, before.tasks + now.tasks, before.operations_done + now.operations_done,
            before.operations + now.operations});
    };
  }
  // The derivatives are those of all tasks in mixed precision.
  Problem of_energies = state.problem;
  of_energies.derivatives = Derivatives::none;
  std::unique_ptr<Executor> executor;
  bool on_cores = false;
  settings.failed_device.clear();
  settings.on_cores = {};
  if (state.options.executor == ExecutorKind::cuda) {
    on_cores = gpus_failed;
    settings.on_cores = [&] {
      executor = nullptr;
      on_cores = true;
      return make_executor_on_cores(state, of_energies, panels);
    };
  }
  const bool tells = settings.warn && (state.communicator == nullptr || state.communicator->rank() == 0);
  std::size_t told = 0;
  SampleReport& report = result.sample.emplace();
  const double begin = wall_seconds();
  for (auto tasks = energies.tasks_to_add(); !tasks.empty(); tasks = energies.tasks_to_add()) {
    for (; tells && told < energies.warnings().size(); ++told) settings.warn(energies.warnings()[told]);
    const double idle = wall_seconds();
    run_collectively(state.communicator, [&] {
      if (!executor && !state.idle()) executor = make_exact_executor(state, of_energies, panels, on_cores, settings);
    });
    report.seconds_preparing += wall_seconds() - idle;
    const Plan part = part_of(plan, tasks);
    settings.numbers_in_journal.clear();
    for (const std::size_t task : tasks) settings.numbers_in_journal.push_back(all + task);
    RunOutcome more = run_tasks(part, executor.get(), omega2_count, settings);
    settings.failed_device.clear();
    energies.add(tasks, more.energies);
    report.tasks += tasks.size() - more.from_journal;
    report.operations += more.operations;
    add_work(outcome, std::move(more));
    before.tasks_done = before.tasks += tasks.size();
    before.operations_done = before.operations += part.total_operations;
  }
  report.seconds = wall_seconds() - begin;
  if (executor) report.device_report = executor->device_report();
  outcome.warnings.insert(outcome.warnings.end(), energies.warnings().begin(), energies.warnings().end());
  result.energies = sum_energies(state, energies.corrected());
  const std::vector<TriplesEnergy> uncorrected = sum_energies(state, energies.uncorrected());
  const std::vector<Energies> bars = energies.error_bars();
  for (std::size_t n = 0; n < result.energies.size(); ++n) {
    TriplesEnergy& energy = result.energies[n];
    energy.uncorrected = uncorrected[n].total;
    energy.error_bar = error_bar_of(state.energies[n], energy, bars);
  }
  result.strata = energies.strata();
  result.tasks_in_double = energies.tasks_in_double();
}

}
