#include "cxx/job/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cxx/base/printable.hpp"
#include "cxx/calculation/fragments.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/job/begin_devices.hpp"
#include "cxx/job/check_input.hpp"
#include "cxx/job/same_settings.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/rank_report.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse {
namespace {

class Job {
 public:
  Job(const JobSide& right, const JobSide& left, const JobOptions& options, Communicator* ranks, JobWatch& watch)
      : right_(right),
        left_(left),
        options_(options),
        ranks_(ranks),
        watch_(watch),
        readable_right_(interruptible(right.source, of_right_)),
        readable_left_(interruptible(left.source, of_left_)) {}

  CalculationResult run() {
    if (ranks_ != nullptr) expect_same_options(*ranks_, options_, left_.source != nullptr);
    try {
      return check_and_run();
    } catch (...) {
      // A wrong input may be the cause of the failure. Then the sentence of its check helps more.
      if (!check_begun_) check(options_.calculation.threads);
      throw;
    }
  }

 private:
  /// Returns the source that a run reads. Reading operands and multiplying factors to them may take minutes.
  const TileSource* interruptible(const TileSource* source, std::optional<InterruptibleSource>& wrapper) const {
    if (source == nullptr || watch_.stop() == nullptr) return source;
    return &wrapper.emplace(*source, *watch_.stop());
  }

  CalculationResult check_and_run() {
    run_collectively(ranks_, [&] { fragments_.emplace(*readable_right_, options_.calculation); });
    const GpuRanks gpus = gpu_ranks(ranks_, options_.gpus_of_host);
    BegunDevices begun;
    run_collectively(ranks_, [&] { begun = begin_devices(options_, *right_.source, ranks_, gpus); });
    CalculationOptions options;
    const auto resolve = [&] { run_collectively(ranks_, [&] { options = begun.options.get(); }); };
    if (may_check_beside_gpus()) resolve();
    const bool beside = may_check_beside_gpus() && options.executor == ExecutorKind::cuda;
    if (beside) {
      options.check_beside_tasks = [&] {
        check(threads_beside_tasks());
        watch_.planned(job());
        return right_check_.ccsd_energy;
      };
    } else {
      check(options_.calculation.threads);
      resolve();
      options.ccsd_energy = right_check_.ccsd_energy;
    }
    const double planning = wall_seconds();
    plan(options, gpus.with_gpu);
    times_.planning = wall_seconds() - planning;
    if (!beside) run_collectively(ranks_, [&] { watch_.planned(job()); });
    compute_fragments(options, gpus.with_gpu);
    return execute();
  }

  void plan(const CalculationOptions& options, bool with_gpu) {
    if (ranks_ == nullptr) {
      alone_.emplace(*readable_right_, readable_left_, options);
      return;
    }
    distributed_.emplace(planned_by_ranks(options, with_gpu));
  }
  DistributedCalculation planned_by_ranks(const CalculationOptions& options, bool with_gpu) {
    const bool may_share = options_.gpus_of_host.has_value() || !options.devices.empty();
    return plan_distributed(*ranks_, *readable_right_, readable_left_,
                            {options, options_.gpu_memory, with_gpu, may_share, options_.gpus_of_host});
  }

  /// Computes the energies of the fragments. A journal does not contain their tasks.
  void compute_fragments(CalculationOptions options, bool with_gpu) {
    if (fragments_->count() == 0) return;
    const double begin = wall_seconds();
    options.journal.clear();
    options.derivatives = Derivatives::none;
    std::size_t runs = 0;
    fragments_->compute(calculation().memory().threads, ranks_, [&](const TileSource& operands) {
      options.right_operands = &operands;
      const auto run = [&](const Calculation& planned) {
        return planned.run(watch_.stop(), [&, done = runs++](const RunProgress& now) { tell_progress(now, done); });
      };
      if (ranks_ != nullptr) return run(planned_by_ranks(options, with_gpu).calculation);
      return run(Calculation(*readable_right_, readable_left_, options));
    });
    times_.fragments = wall_seconds() - begin;
  }
  /// Tells the progress of all runs together, which have the same tasks. `done`: number of runs before this one.
  void tell_progress(RunProgress now, std::size_t done) {
    const std::size_t runs = fragments_->count() + 1;
    now.tasks_done += done * now.tasks;
    now.tasks *= runs;
    now.operations_done += static_cast<double>(done) * now.operations;
    now.operations *= static_cast<double>(runs);
    watch_.progress(now);
  }

  CalculationResult execute() {
    std::exception_ptr failure;  // thrown later, because the other ranks need this rank until the run returns
    CalculationResult result = calculation().run(
        watch_.stop(), [&](const RunProgress& now) { tell_progress(now, fragments_->count()); },
        [&](const std::string& warning) { watch_.warn(in_words_of(options_.door, warning)); },
        [&](CalculationResult& found) {
          fragments_->add_to(found);
          // The GPUs of this rank are not those of all ranks.
          if (distributed_) found.remove_device_reports();
          for (std::string& warning : found.warnings) warning = in_words_of(options_.door, warning);
          times_.whole = wall_seconds() - options_.begin;
          try {
            watch_.finished({job(), found, times_});
          } catch (...) {
            failure = std::current_exception();
          }
        });
    if (failure) std::rethrow_exception(failure);
    return result;
  }

  /// Returns true if the input may be checked beside the tasks: GPUs leave the cores idle, and arrays in memory can be
  /// read for both at the same time. There must be no fragments, which are computed first, and no journal, because it
  /// could receive energies of a wrong input.
  bool may_check_beside_gpus() const {
    return ranks_ == nullptr && fragments_->count() == 0 && options_.calculation.check &&
           options_.calculation.journal.empty() && right_.in_memory && (left_.source == nullptr || left_.in_memory);
  }
  /// Returns the number of threads of a check beside the tasks. They are few, to leave memory bandwidth to panels on
  /// their way to the GPUs, and cores to the workers of the GPUs.
  int threads_beside_tasks() const {
    constexpr int least = 4;
    const int threads = calculation().memory().threads;
    return std::max(std::min(threads, least), threads / 2);
  }

  void check(int threads) {
    check_begun_ = true;
    const double begin = wall_seconds();
    const CheckSettings settings{options_.calculation.check, options_.calculation.trust_input, threads, watch_.stop()};
    right_check_ = check_side(right_, right_, settings, ranks_);
    if (left_.source != nullptr) left_check_ = check_side(left_, right_, settings, ranks_);
    for (CheckReport* report : {&right_check_, &left_check_})
      for (std::string& warning : report->warnings) warning = in_words_of(options_.door, warning);
    times_.checking = wall_seconds() - begin;
  }

  const Calculation& calculation() const { return distributed_ ? distributed_->calculation : *alone_; }
  PlannedJob job() const {
    return {calculation(), distributed_ ? &*distributed_ : nullptr,         *readable_right_, readable_left_,
            right_check_,  left_.source != nullptr ? &left_check_ : nullptr};
  }

  const JobSide& right_;
  const JobSide& left_;
  const JobOptions& options_;
  Communicator* const ranks_;
  JobWatch& watch_;
  std::optional<InterruptibleSource> of_right_, of_left_;
  const TileSource* const readable_right_;
  const TileSource* const readable_left_;
  std::optional<FragmentRuns> fragments_;
  bool check_begun_ = false;
  CheckReport right_check_, left_check_;
  RunTimes times_;
  std::optional<Calculation> alone_;
  std::optional<DistributedCalculation> distributed_;
};

}

CalculationResult run_job(const JobSide& right, const JobSide& left, const JobOptions& options, Communicator* ranks,
                          JobWatch& watch) {
  return Job(right, left, options, ranks, watch).run();
}

std::string describe_job(const PlannedJob& job) {
  std::string text = describe_source(job.right);
  if (job.left != nullptr) text += fmt::format("Left         {}\n", printable(job.left->info().path));
  text += describe_ccsd(job.right.info(), job.right_check.ccsd_energy);
  text += describe_checks(job.right_check, job.left_check);
  text += describe_plan(job.calculation);
  if (job.ranks != nullptr) text += fmt::format("{}\n", fmt::join(rank_table(*job.ranks), "\n"));
  return text;
}

nlohmann::ordered_json json_report(const FinishedJob& job) {
  nlohmann::ordered_json report =
      json_report(job.calculation, job.result, job.times, job.right, job.left, job.right_check, job.left_check);
  if (job.ranks != nullptr) {
    report["ranks"] = json_ranks(*job.ranks, job.result);
    report["kinds"] = json_kinds(job.result.ranks);
  }
  return report;
}

}
