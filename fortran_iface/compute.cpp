#include "fortran_iface/compute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "cxx/base/clock.hpp"
#include "cxx/calculation/distributed_calculation.hpp"
#include "cxx/parallel/ranks.hpp"
#include "cxx/parallel/same_numbers.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/rank_report.hpp"
#include "cxx/report/report.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

namespace trifuse::c_interface {

namespace {

/// Throws UsageError on all ranks if a setting that all ranks must share differs. Collective.
void expect_same_settings(Communicator& ranks, const CalculationSetup& setup) {
  const CalculationOptions& options = setup.options;
  // A hash that a double holds exactly.
  const auto number_of = [](const std::string& text) {
    constexpr std::size_t bits = (std::size_t{1} << 50) - 1;
    return static_cast<double>(std::hash<std::string>{}(text)&bits);
  };
  const std::vector<std::pair<const char*, double>> settings = {
      {"trifuse_set_omega2", number_of(fmt::format("{}", fmt::join(options.omega2, " ")))},
      {"trifuse_set_form", options.formulation ? static_cast<double>(*options.formulation) : -1.0},
      {"trifuse_set_rohf", static_cast<double>(options.rohf)},
      {"trifuse_set_precision", static_cast<double>(options.precision)},
      {"trifuse_set_target_error", options.target_error.value_or(0.0)},
      {"trifuse_set_tile_size", static_cast<double>(options.tile_size.value_or(0))},
      {"trifuse_set_journal", options.journal.empty() ? 0.0 : 1.0},
      {"trifuse_set_trust_input", options.trust_input ? 1.0 : 0.0},
      {"trifuse_set_check", setup.check ? 1.0 : 0.0},
      {"trifuse_new_calculation (left amplitudes)", setup.left ? 1.0 : 0.0}};
  std::vector<double> mine;
  for (const auto& [name, value] : settings) mine.push_back(value);
  const std::vector<double> all = allgather(ranks, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] == all[n % mine.size()]) continue;
    throw UsageError(
        fmt::format("Ranks 0 and {} have not the same setting of {}; set the same on all ranks (only threads, memory, "
                    "devices and functions may differ).",
                    n / mine.size(), settings[n % mine.size()].first));
  }
}

/// Checks amplitudes before a run, unless the caller does not want it. Collective if there are ranks.
CheckReport check_before_run(const CalculationSetup& setup, Amplitudes& amplitudes, const CheckShare& share,
                             Communicator* ranks) {
  CheckReport report;
  run_collectively(ranks, [&] {
    if (setup.check) {
      report = verify(amplitudes, *setup.right, setup.options.trust_input, share);
      return;
    }
    if (amplitudes.filled != nullptr) amplitudes.filled->check_complete();
    report.warnings.push_back(fmt::format(
        "{}: the numbers were not checked, as the calling program asked; wrong numbers give wrong energies.",
        amplitudes.source->info().path));
  });
  if (ranks == nullptr) return report;
  expect_same_numbers(*ranks, *amplitudes.source);
  // Arrays have no digest. If ranks have different ones, their measured values differ.
  std::array<double, 16> measured{report.ccsd_energy.value_or(0.0)};
  for (std::size_t n = 0; n < std::min(report.witnesses.size(), measured.size() - 1); ++n) {
    const double value = report.witnesses[n].value.value_or(0.0);
    measured[n + 1] = std::isfinite(value) ? value : -1.0;
  }
  expect_same(*ranks, measured);
  return report;
}

/// The source that a run reads: it ends soon after `stop`, which may be null.
const TileSource& interruptible(const Amplitudes& amplitudes, const std::atomic<bool>* stop,
                                std::optional<InterruptibleSource>& wrapper) {
  return stop != nullptr ? wrapper.emplace(*amplitudes.source, *stop) : *amplitudes.source;
}

/// The checks of the input of a run.
struct InputChecks {
  CheckReport right;
  std::optional<CheckReport> left;
  bool begun = false;
  double seconds = 0.0;

  const CheckReport* left_if_any() const { return left ? &*left : nullptr; }
  /// Checks the input. Arguments as in check_before_run().
  void run(const CalculationSetup& setup, const CheckShare& share, Communicator* ranks) {
    begun = true;
    const double begin = wall_seconds();
    right = check_before_run(setup, *setup.right, share, ranks);
    if (setup.left) left = check_before_run(setup, *setup.left, share, ranks);
    seconds = wall_seconds() - begin;
  }
};

/// True if the input may be checked while the tasks are executed. GPUs leave the cores idle, and arrays in memory can
/// be read at the same time for both purposes. No journal may receive energies of a wrong input.
bool may_check_beside_tasks(const CalculationSetup& setup, const CalculationOptions& options,
                            const Communicator* ranks) {
  return ranks == nullptr && setup.check && options.executor == ExecutorKind::cuda && options.journal.empty() &&
         setup.right->in_memory && (setup.left == nullptr || setup.left->in_memory);
}

/// Threads of a check beside the tasks: few enough to leave the memory's speed to the panels on their way to the GPUs,
/// and cores to the workers of the GPUs.
int threads_beside_tasks(const Calculation& calculation) {
  constexpr int least = 4;
  const int threads = calculation.threads();
  return std::max(std::min(threads, least), threads / 2);
}

/// Plans and runs the calculation, and sets the results of `setup`. Checks the input with `check` before the tasks or
/// beside them. `check(threads)` does so on as many threads as the options say, if `threads` is 0. `begin`: time at
/// which the run began, see wall_seconds(). Other arguments as in compute().
void run_and_check(CalculationSetup& setup, RunWatch& watch, Communicator* ranks, double begin, InputChecks& checks,
                   const std::function<void(int threads)>& check) {
  RunLog log(setup.log, setup.log_context);
  std::optional<InterruptibleSource> of_right, of_left_source;
  const TileSource& right = interruptible(*setup.right, watch.stop(), of_right);
  const TileSource* const left = setup.left ? &interruptible(*setup.left, watch.stop(), of_left_source) : nullptr;
  CalculationOptions options = setup.options;
  run_collectively(ranks, [&] {
    if (setup.choose_executor)
      options.executor = choose_executor(right.tiles(), options.formulation, options.precision);
  });
  std::optional<DistributedCalculation> distributed;
  std::optional<Calculation> alone;
  std::vector<std::string> of_checks;
  const bool tells = ranks == nullptr || ranks->rank() == 0;
  const auto tell_about_input = [&] {
    of_checks = check_warnings(checks.right, checks.left_if_any());
    if (!tells) return;
    if (log.wanted()) {
      const Calculation& planned = distributed ? distributed->calculation : *alone;
      log.write(TRIFUSE_LOG_INFORMATION, describe_source(right) +
                                             describe_ccsd(right.info(), checks.right.ccsd_energy) +
                                             describe_checks(checks.right, checks.left_if_any()) +
                                             describe_plan(planned) + describe_slow_blas());
      if (distributed) log.write(TRIFUSE_LOG_INFORMATION, fmt::format("{}", fmt::join(rank_table(*distributed), "\n")));
    }
    for (const std::string& warning : of_checks) log.write(TRIFUSE_LOG_WARNING, warning);
  };
  const bool beside = may_check_beside_tasks(setup, options, ranks);
  if (beside) {
    options.check_beside_tasks = [&] {
      check(threads_beside_tasks(*alone));
      tell_about_input();
      return checks.right.ccsd_energy;
    };
  } else {
    check(0);
    options.ccsd_energy = checks.right.ccsd_energy;
  }
  RunTimes times;
  const double planning = wall_seconds();
  if (ranks != nullptr) {
    distributed.emplace(plan_distributed(*ranks, right, left, options_with_device(*ranks, options)));
  } else {
    alone.emplace(right, left, options);
  }
  times.planning = wall_seconds() - planning;
  if (!beside) run_collectively(ranks, tell_about_input);
  const Calculation& calculation = distributed ? distributed->calculation : *alone;
  setup.result = calculation.run(
      watch.stop(), [&](const RunProgress& now) { watch.update(now); },
      [&](const std::string& warning) { log.write(TRIFUSE_LOG_WARNING, warning); });
  times.checking = checks.seconds;
  times.whole = wall_seconds() - begin;
  setup.warnings = of_checks;
  setup.warnings.insert(setup.warnings.end(), setup.result.warnings.begin(), setup.result.warnings.end());
  setup.ccsd_energy = total_ccsd_energy(right.info(), checks.right.ccsd_energy);
  if (distributed) setup.result.remove_device_reports();
  auto report = json_report(calculation, setup.result, times, right, left, checks.right, checks.left_if_any());
  if (distributed) {
    report["ranks"] = json_ranks(*distributed, setup.result);
    report["kinds"] = json_kinds(setup.result.ranks);
  }
  setup.report = report_text("run", report);
}

}  // namespace

void compute(CalculationSetup& setup, RunWatch& watch, Communicator* ranks) {
  const double begin = wall_seconds();
  if (ranks != nullptr) expect_same_settings(*ranks, setup);
  CheckShare share{.threads = setup.options.threads, .stop = watch.stop()};
  if (ranks != nullptr) {
    const int of_each = threads_of_each(*ranks);  // collective, so a rank with a given number of threads calls it, too
    if (share.threads == 0) share.threads = of_each;
  }
  InputChecks checks;
  const auto check = [&](int threads) {
    if (threads > 0) share.threads = threads;
    checks.run(setup, share, ranks);
  };
  try {
    run_and_check(setup, watch, ranks, begin, checks, check);
  } catch (...) {
    // A wrong input may be the cause of the failure. Then the sentence of its check helps more.
    if (!checks.begun) check(0);
    throw;
  }
}

}  // namespace trifuse::c_interface
