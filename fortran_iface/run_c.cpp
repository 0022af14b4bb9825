#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "cxx/base/clock.hpp"
#include "cxx/report/check_report.hpp"
#include "cxx/report/report.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/run_watch.hpp"
#include "tce_tiles/interruptible_source.hpp"

using namespace trifuse::c_interface;

namespace {

/// Checks amplitudes before a run, unless the caller does not want it.
trifuse::CheckReport check_before_run(const CalculationSetup& setup, Amplitudes& amplitudes,
                                      const std::atomic<bool>* stop) {
  if (setup.check) {
    const trifuse::CheckShare share{.threads = setup.options.threads, .stop = stop};
    return verify(amplitudes, *setup.right, setup.options.trust_input, share);
  }
  if (amplitudes.filled != nullptr) amplitudes.filled->check_complete();
  trifuse::CheckReport report;
  report.warnings.push_back(
      fmt::format("{}: the numbers were not checked, as the calling program asked; wrong numbers give wrong energies.",
                  amplitudes.source->info().path));
  return report;
}

/// The source that a run reads: it ends soon after `stop`, which may be null.
const trifuse::TileSource& interruptible(const Amplitudes& amplitudes, const std::atomic<bool>* stop,
                                         std::optional<trifuse::InterruptibleSource>& wrapper) {
  return stop != nullptr ? wrapper.emplace(*amplitudes.source, *stop) : *amplitudes.source;
}

/// Computes the energies and sets the results of `setup`.
void compute(CalculationSetup& setup, RunWatch& watch) {
  RunLog log(setup.log, setup.log_context);
  const double begin = trifuse::wall_seconds();
  const trifuse::CheckReport right_check = check_before_run(setup, *setup.right, watch.stop());
  std::optional<trifuse::CheckReport> left_check;
  if (setup.left) left_check = check_before_run(setup, *setup.left, watch.stop());
  const trifuse::CheckReport* const of_left = left_check ? &*left_check : nullptr;
  trifuse::RunTimes times;
  const double checked = trifuse::wall_seconds();
  times.checking = checked - begin;

  std::optional<trifuse::InterruptibleSource> of_right, of_left_source;
  const trifuse::TileSource& right = interruptible(*setup.right, watch.stop(), of_right);
  const trifuse::TileSource* const left =
      setup.left ? &interruptible(*setup.left, watch.stop(), of_left_source) : nullptr;
  trifuse::CalculationOptions options = setup.options;
  options.ccsd_energy = right_check.ccsd_energy;
  if (setup.choose_executor) options.executor = trifuse::choose_executor(right.tiles(), options.formulation);
  const trifuse::Calculation calculation(right, left, options);
  times.planning = trifuse::wall_seconds() - checked;
  if (log.wanted()) {
    log.write(TRIFUSE_LOG_INFORMATION, describe_source(right) + describe_ccsd(right.info(), right_check.ccsd_energy) +
                                           describe_checks(right_check, of_left) + describe_plan(calculation));
  }
  const std::vector<std::string> of_checks = check_warnings(right_check, of_left);
  for (const std::string& warning : of_checks) log.write(TRIFUSE_LOG_WARNING, warning);
  setup.result = calculation.run(
      watch.stop(), [&](const trifuse::RunProgress& now) { watch.update(now); },
      [&](const std::string& warning) { log.write(TRIFUSE_LOG_WARNING, warning); });
  times.whole = trifuse::wall_seconds() - begin;
  setup.warnings = of_checks;
  setup.warnings.insert(setup.warnings.end(), setup.result.warnings.begin(), setup.result.warnings.end());
  setup.ccsd_energy = trifuse::total_ccsd_energy(right.info(), right_check.ccsd_energy);
  setup.report = trifuse::report_text(
      "run", trifuse::json_report(calculation, setup.result, times, right, left, right_check, of_left));
}

/// The energies of one omega2. Throws UsageError if there are none with this number.
const trifuse::TriplesEnergy& energy_of(const CalculationSetup& setup, std::int64_t index) {
  const auto& energies = setup.result.energies;
  if (index < 0 || index >= std::ssize(energies)) {
    throw trifuse::UsageError("There is no energy with this number; run the calculation first and count from 0.");
  }
  return energies[static_cast<std::size_t>(index)];
}

void put(const trifuse::EnergyPair& energies, double* bracket_energy, double* paren_energy) {
  if (bracket_energy != nullptr) *bracket_energy = energies.e_bracket_t;
  if (paren_energy != nullptr) *paren_energy = energies.e_paren_t;
}

}  // namespace

void trifuse_run(trifuse_status* status, trifuse_calculation calculation) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    setup->result = {};
    setup->warnings.clear();
    setup->ccsd_energy.reset();
    setup->report.clear();
    RunWatch watch(setup->progress, setup->progress_context);
    try {
      compute(*setup, watch);
    } catch (const trifuse::Interrupted&) {
      throw trifuse::Interrupted(watch.sentence(setup->options.journal));
    }
    watch.finish();
  });
}

int64_t trifuse_warning_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0}, [&] { return static_cast<int64_t>(checked(calculation)->warnings.size()); });
}

void trifuse_get_warning(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* warning) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const std::vector<std::string>& all = setup->warnings;
    if (index < 0 || index >= std::ssize(all)) throw trifuse::UsageError("There is no warning with this number.");
    if (warning != nullptr) copy_text(all[static_cast<std::size_t>(index)], warning, TRIFUSE_MESSAGE_LENGTH);
  });
}

int64_t trifuse_energy_count(trifuse_status* status, trifuse_calculation calculation) {
  return guarded(status, int64_t{0},
                 [&] { return static_cast<int64_t>(checked(calculation)->result.energies.size()); });
}

void trifuse_get_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index, double* omega2,
                        double* bracket_energy, double* paren_energy) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (omega2 != nullptr) *omega2 = energy.omega2;
    put(energy.total, bracket_energy, paren_energy);
  });
}

void trifuse_get_spin_case(trifuse_status* status, trifuse_calculation calculation, int64_t index, int32_t spin_case,
                           double* bracket_energy, double* paren_energy) {
  static_assert(static_cast<int>(trifuse::SpinCase::aaa) == TRIFUSE_AAA &&
                static_cast<int>(trifuse::SpinCase::bbb) == TRIFUSE_BBB);
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (spin_case < TRIFUSE_AAA || spin_case > TRIFUSE_BBB) {
      throw trifuse::UsageError("The spin case must be one of the values of trifuse_spin_case.");
    }
    put(energy.spin_cases[static_cast<std::size_t>(spin_case)], bracket_energy, paren_energy);
  });
}

double trifuse_get_total_energy(trifuse_status* status, trifuse_calculation calculation, int64_t index) {
  return guarded(status, 0.0, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    return setup->ccsd_energy ? *setup->ccsd_energy + energy.total.e_paren_t : std::numeric_limits<double>::quiet_NaN();
  });
}

void trifuse_get_method(trifuse_status* status, trifuse_calculation calculation, int64_t index, char* method) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    const trifuse::TriplesEnergy& energy = energy_of(*setup, index);
    if (method != nullptr) copy_text(energy.method, method, TRIFUSE_MESSAGE_LENGTH);
  });
}

int64_t trifuse_get_report(trifuse_status* status, trifuse_calculation calculation, int64_t size, char* report) {
  return guarded(status, int64_t{0}, [&] {
    const auto setup = checked(calculation);
    const std::string& text = setup->report;
    if (text.empty()) throw trifuse::UsageError("There is no report; run the calculation first.");
    if (size < 0 || (size > 0 && report == nullptr)) {
      throw trifuse::UsageError(fmt::format("The report cannot be copied to {} bytes{}.", size,
                                            report == nullptr ? " at a null pointer" : ""));
    }
    if (size > 0) {
      const std::size_t length = std::min(text.size(), static_cast<std::size_t>(size) - 1);
      std::memcpy(report, text.data(), length);
      report[length] = '\0';
    }
    return std::ssize(text) + 1;
  });
}
