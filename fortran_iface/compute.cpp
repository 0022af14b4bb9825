#include "fortran_iface/compute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <utility>

#include "cxx/job/job.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/report.hpp"

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

/// The side of a job.
JobSide side_of(Amplitudes* amplitudes) {
  if (amplitudes == nullptr) return {};
  JobSide side{amplitudes->source.get(), amplitudes->in_memory, {}, &amplitudes->checks};
  if (amplitudes->filled != nullptr) {
    side.expect_complete = [filled = amplitudes->filled] { filled->check_complete(); };
  }
  return side;
}

/// Tells the caller what happens, and sets the results.
class Watch final : public JobWatch {
 public:
  Watch(CalculationSetup& setup, RunWatch& watch, bool tells)
      : setup_(setup), watch_(watch), log_(setup.log, setup.log_context), tells_(tells) {}

  const std::atomic<bool>* stop() const override { return watch_.stop(); }
  void planned(const PlannedJob& job) override {
    setup_.warnings = check_warnings(job.right_check, job.left_check);
    if (!tells_) return;
    if (log_.wanted()) log_.write(TRIFUSE_LOG_INFORMATION, describe_job(job) + describe_slow_blas());
    for (const std::string& warning : setup_.warnings) log_.write(TRIFUSE_LOG_WARNING, warning);
  }
  void progress(const RunProgress& now) override { watch_.update(now); }
  void warn(const std::string& sentence) override { log_.write(TRIFUSE_LOG_WARNING, sentence); }
  void finished(const FinishedJob& job) override {
    setup_.warnings.insert(setup_.warnings.end(), job.result.warnings.begin(), job.result.warnings.end());
    setup_.ccsd_energy = total_ccsd_energy(job.right.info(), job.right_check.ccsd_energy);
    setup_.report = report_text("run", json_report(job));
  }

 private:
  CalculationSetup& setup_;
  RunWatch& watch_;
  RunLog log_;
  const bool tells_;
};

}  // namespace

void compute(CalculationSetup& setup, RunWatch& watch, Communicator* ranks) {
  JobOptions options;
  options.calculation = setup.options;
  options.choose_executor = setup.choose_executor;
  options.check = setup.check;
  if (ranks != nullptr) expect_same_settings(*ranks, setup);
  for (Amplitudes* side : {setup.right.get(), setup.left.get()}) {
    if (side != nullptr && setup.check) side->forget_outdated_check();
  }
  Watch told(setup, watch, ranks == nullptr || ranks->rank() == 0);
  setup.result = run_job(side_of(setup.right.get()), side_of(setup.left.get()), options, ranks, told);
}

}  // namespace trifuse::c_interface
