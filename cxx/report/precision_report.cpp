#include "cxx/report/precision_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "cxx/cuda/runtime/slow_double.hpp"
#include "cxx/plan/strata.hpp"
#include "cxx/report/device_report.hpp"
#include "cxx/report/json_values.hpp"

namespace trifuse {

namespace {

/// Returns an energy and its error bar with as many decimals as the bar has up to its first digit. The bar is rounded
/// up.
std::string with_bar(double energy, double bar) {
  constexpr int most = 15;
  const int decimals = bar > 0.0 ? std::clamp(static_cast<int>(std::ceil(-std::log10(bar))), 1, most) : most;
  const double unit = std::pow(10.0, -decimals);
  return fmt::format("{:.{}f} ± {:.{}f}", energy, decimals, std::ceil(bar / unit) * unit, decimals);
}

}

nlohmann::ordered_json json_energies(const Energies& energies) {
  nlohmann::ordered_json json;
  for (std::size_t n = 0; n < Energies::count; ++n) json[Energies::names[n]] = energies.values()[n];
  return json;
}

std::string describe_precision(const Calculation& calculation, const CalculationResult& result) {
  if (calculation.options().precision != Precision::mixed) return {};
  std::string text = "\n";
  for (const TriplesEnergy& energy : result.energies) {
    const double total = energy.total.values().back(), bar = energy.error_bar.values().back();
    const std::string at = result.energies.size() > 1 ? fmt::format(" at omega2 = {:g}", energy.omega2) : "";
    text += fmt::format("{} = {} (mixed precision; {} of {} tasks in double precision){}\n", Energies::names.back(),
                        with_bar(total, bar), result.tasks_in_double, result.tasks, at);
    text += fmt::format("       {:.15f} without the correction by these tasks\n", energy.uncorrected.values().back());
  }
  if (result.derivatives_error) {
    text += fmt::format(
        "Derivatives: sums of derivative times array differ from the energies by {:.1e} of their magnitudes at most\n",
        *result.derivatives_error);
  }
  return text;
}

std::string precision_advice(const Calculation& calculation) {
  if (calculation.options().precision == Precision::mixed) return {};
  if (calculation.devices().empty()) return {};
  const Plan& plan = calculation.plan();
  double of_sample = 0.0;
  for (const std::size_t task : expected_sample(plan)) of_sample += plan.operations[task];
  return advise_mixed_precision(calculation.devices(), plan.total_operations, of_sample);
}

std::string describe_sample(const CalculationResult& result) {
  if (!result.sample) return {};
  const SampleReport& sample = *result.sample;
  constexpr double giga = 1e9;
  return fmt::format(
      "Precision    {:.2f} s in mixed precision, {:.1f} GF/s; then {:.2f} s in double precision for the error bar:\n"
      "             {} tasks, {:.1f} GF/s, {:.2f} s to prepare them\n",
      result.seconds_tasks - sample.seconds, rate_without_sample(result) / giga, sample.seconds, sample.tasks,
      rate_of_sample(result) / giga, sample.seconds_preparing);
}

void add_precision(const Calculation& calculation, const CalculationResult& result, nlohmann::ordered_json& report) {
  const CalculationOptions& options = calculation.options();
  report["settings"]["precision"] = to_string(options.precision);
  report["settings"]["target_error"] = json_or_null(options.target_error);
  report["tasks"]["in_double"] = result.tasks_in_double;
  if (std::string advice = precision_advice(calculation); !advice.empty())
    report["precision_advice"] = std::move(advice);
  if (options.precision != Precision::mixed) return;
  for (std::size_t w = 0; w < result.energies.size(); ++w) {
    report["energies"][w]["uncorrected"] = json_energies(result.energies[w].uncorrected);
    report["energies"][w]["error_bar"] = json_energies(result.energies[w].error_bar);
    for (const FragmentEnergy& fragment : result.energies[w].fragments)
      report["energies"][w]["fragment_error_bars"].push_back(json_energies(fragment.error_bar));
  }
  if (result.sample) {
    const SampleReport& sample = *result.sample;
    report["sample"] = {{"tasks", sample.tasks},
                        {"operations", sample.operations},
                        {"seconds", sample.seconds},
                        {"preparing_seconds", sample.seconds_preparing},
                        {"operations_per_second", rate_of_sample(result)}};
    if (sample.device_report)
      report["sample"]["cuda"] = json_devices(calculation, *sample.device_report, rate_of_sample(result));
  }
  nlohmann::ordered_json strata = nlohmann::ordered_json::array();
  for (const StratumReport& stratum : result.strata) {
    strata.push_back({{"spin_case", spin_case_names[static_cast<std::size_t>(stratum.spin_case)]},
                      {"least_operations", stratum.least_operations},
                      {"most_operations", stratum.most_operations},
                      {"tasks", stratum.tasks},
                      {"in_double", stratum.tasks_in_double},
                      {"spoiled", stratum.spoiled}});
  }
  report["strata"] = std::move(strata);
  if (result.derivatives_error) report["derivatives_error"] = *result.derivatives_error;
}

}
