#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/context.hpp"
#include "cxx/calculation/mixed_energies.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/parallel/task_run.hpp"

/// The part of a run in mixed precision that computes tasks in double precision.
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

}

void CalculationContext::prepare_for_sample(const std::shared_ptr<const PanelStore>& panels, bool on_cores,
                                            PreparedExecutor& executor, RunSettings& settings) const {
  run_collectively(communicator_, [&] {
    const bool idle = communicator_ != nullptr && assignment_.role == RankAssignment::Role::idle;
    if (idle || executor) return;
    if (on_cores) {
      executor.executor = make_executor_on_cores(panels);
      return;
    }
    const auto fail = [&](const Error& error) {
      executor = {};
      settings.failed_device = error.what();
    };
    try {
      std::vector<std::string> left_out;  // the tasks in mixed precision have warned of these GPUs
      executor = prepare_executor(Precision::fp64, &left_out, settings.stop);
      if (executor.reader != nullptr) {
        const bool enough = panels->has_panels() || executor.reader->reads_sources();
        executor.reader->take_panels(enough ? panels : read_all_operands(*executor.reader));
      }
    } catch (const DeviceError& error) {
      fail(error);
    } catch (const UsageError& error) {  // the operands of a task are larger in double precision and may not fit
      if (options_.executor != ExecutorKind::cuda) throw;
      fail(error);
    }
  });
}

void CalculationContext::compute_sample(RunOutcome& outcome, RunSettings settings, bool on_devices,
                                        const std::shared_ptr<const PanelStore>& panels,
                                        CalculationResult& result) const {
  const std::size_t omega2_count = problem_.omega2.size(), all = plan_.tasks.size();
  std::vector<bool> in_double;
  for (const WorkerKind kind : outcome.kinds) in_double.push_back(!is_mixed(kind));
  MixedEnergies energies(plan_, omega2_count, std::move(outcome.energies), in_double, options_.target_error);
  const auto tell = std::exchange(settings.progress, {});
  RunProgress before{all, all, plan_.total_operations, plan_.total_operations};
  if (tell) {
    settings.progress = [&](const RunProgress& now) {
      tell({before.tasks_done + now.tasks_done, before.tasks + now.tasks, before.operations_done + now.operations_done,
            before.operations + now.operations});
    };
  }
  PreparedExecutor executor;
  bool on_cores = false;
  settings.failed_device.clear();
  settings.on_cores = {};
  if (options_.executor == ExecutorKind::cuda) {
    on_cores = !on_devices;
    settings.on_cores = [&] {
      executor = {};
      on_cores = true;
      return make_executor_on_cores(panels);
    };
  }
  const bool tells = settings.warn && (communicator_ == nullptr || communicator_->rank() == 0);
  std::size_t told = 0;
  SampleReport& report = result.sample.emplace();
  const double begin = wall_seconds();
  for (auto tasks = energies.tasks_to_add(); !tasks.empty(); tasks = energies.tasks_to_add()) {
    for (; tells && told < energies.warnings().size(); ++told) settings.warn(energies.warnings()[told]);
    const double idle = wall_seconds();
    prepare_for_sample(panels, on_cores, executor, settings);
    report.seconds_preparing += wall_seconds() - idle;
    const Plan part = part_of(plan_, tasks);
    settings.numbers_in_journal.clear();
    for (const std::size_t task : tasks) settings.numbers_in_journal.push_back(all + task);
    RunOutcome more = run_tasks(part, executor.executor.get(), omega2_count, settings);
    settings.failed_device.clear();
    energies.add(tasks, more.energies);
    report.tasks += tasks.size() - more.from_journal;
    report.operations += more.operations;
    add_work(outcome, std::move(more));
    before.tasks_done = before.tasks += tasks.size();
    before.operations_done = before.operations += part.total_operations;
  }
  report.seconds = wall_seconds() - begin;
  if (executor.cuda != nullptr) report.cuda = executor.cuda->report();
  outcome.warnings.insert(outcome.warnings.end(), energies.warnings().begin(), energies.warnings().end());
  result.energies = sum_energies(energies.corrected());
  const std::vector<TriplesEnergy> uncorrected = sum_energies(energies.uncorrected());
  const std::vector<Energies> bars = energies.error_bars();
  for (std::size_t w = 0; w < omega2_count; ++w) {
    result.energies[w].uncorrected = uncorrected[w].total;
    result.energies[w].error_bar = bars[w];
  }
  result.strata = energies.strata();
  result.tasks_in_double = energies.tasks_in_double();
}

}
