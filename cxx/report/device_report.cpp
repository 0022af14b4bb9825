#include "cxx/report/device_report.hpp"

#include <fmt/format.h>

#include "cxx/base/byte_amount.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/plan/executor_report.hpp"
#include "cxx/report/json_values.hpp"

namespace trifuse {

namespace {

/// Returns the FP64 matrix peak of all devices, operations per second; 0 if the peak of a device is not known.
double peak_rate(const DeviceReport& report) {
  double sum = 0.0;
  for (const DeviceReport::Device& device : report.devices) {
    if (device.peak_share_rate <= 0.0) return 0.0;
    sum += device.peak_share_rate;
  }
  return sum;
}

/// Returns the fraction of wanted panels that were already on the device.
double hit_share(const DeviceReport& report) {
  const std::int64_t missed = report.panels_sent + report.panels_made + report.panels_from_peers;
  return report.panels_wanted > 0 ? 1.0 - static_cast<double>(missed) / static_cast<double>(report.panels_wanted) : 0.0;
}

/// Returns the names of the kernels that were used. If there are several, the share of CTA tiles follows each name.
std::string kernels_of(const DeviceReport& report) {
  std::vector<DeviceReport::Kernel> used;
  std::int64_t cta_tiles = 0;
  for (const DeviceReport::Kernel& kernel : report.kernels) {
    if (kernel.cta_tiles > 0) used.push_back(kernel);
    cta_tiles += kernel.cta_tiles;
  }
  if (used.size() <= 1) return "kernel " + (used.empty() ? report.kernels.front() : used.front()).name;
  std::string text = "kernels";
  for (const DeviceReport::Kernel& kernel : used) {
    text += fmt::format("{} {} ({:.3g} % of the CTA tiles)", &kernel == used.data() ? "" : ",", kernel.name,
                        100.0 * static_cast<double>(kernel.cta_tiles) / static_cast<double>(cta_tiles));
  }
  return text;
}

}

std::string names_of(const std::vector<DeviceInfo>& devices) {
  std::string text;
  for (const DeviceInfo& device : devices) {
    text += fmt::format("{}GPU {}: {}", text.empty() ? "" : ", ", device.number, device.name);
  }
  return text;
}

std::string describe_devices(const Calculation& calculation, const DeviceReport& report, double rate,
                             const std::string& part) {
  std::string text = fmt::format("Devices      {}; {}{}{}\n", names_of(calculation.devices()), kernels_of(report),
                                 part.empty() ? "" : "; ", part);
  if (rate > 0.0) {
    const double peak = peak_rate(report);
    text += fmt::format("             {:.2f} TF/s by the operation count", rate * 1e-12);
    if (peak > 0.0) {
      text += fmt::format(", {:.1f} % of the FP64 peak of {:.1f} TF/s", 100.0 * rate / peak, peak * 1e-12);
    }
    text += "\n";
  }
  text += fmt::format("Panels       {} requested, {} sent ({:.1f} % cache hits), {} moved, {} evicted\n",
                      report.panels_wanted, report.panels_sent, 100.0 * hit_share(report),
                      format_bytes(static_cast<double>(report.bytes_sent)), report.panels_evicted);
  if (report.panels_made > 0)
    text += fmt::format("             {} ({}) made from factors in {:.2f} s, {} slabs of factors sent\n",
                        report.panels_made, format_bytes(static_cast<double>(report.bytes_made)), report.seconds_making,
                        report.slabs_sent);
  if (report.slabs_owned > 0)
    text += fmt::format("             {} slabs owned for other GPUs, {} copied from other GPUs\n", report.slabs_owned,
                        report.slabs_from_peers);
  if (report.panels_owned > 0)
    text += fmt::format("             {} owned for other GPUs, {} copied from other GPUs\n", report.panels_owned,
                        report.panels_from_peers);
  if (report.panels_owned + report.slabs_owned > 0)
    text += fmt::format("             {} moved from other GPUs\n",
                        format_bytes(static_cast<double>(report.bytes_from_peers)));
  text += fmt::format("             at most {} of the allowed {} used on a device\n",
                      format_bytes(static_cast<double>(report.bytes_resident)),
                      format_bytes(static_cast<double>(report.memory_budget)));
  text += fmt::format(
      "Seconds      devices: {:.2f} in kernels, {:.2f} in copies; host threads: {:.2f} waiting, {:.2f} preparing\n",
      report.seconds_kernels, report.seconds_copies, report.seconds_waiting, report.seconds_preparing);
  return text;
}

nlohmann::ordered_json json_devices(const Calculation& calculation, const DeviceReport& report, double rate) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const DeviceInfo& device : calculation.devices()) {
    devices.push_back({{"number", device.number},
                       {"name", device.name},
                       {"compute_capability", fmt::format("{}.{}", device.major, device.minor)},
                       {"total_memory_bytes", device.total_memory}});
  }
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const DeviceReport::Kernel& kernel : report.kernels)
    kernels.push_back({{"name", kernel.name}, {"cta_tiles", kernel.cta_tiles}});
  const double peak = peak_rate(report);
  return {{"devices", devices},
          {"kernels", kernels},
          {"operations_per_second", rate},
          {"fp64_peak_operations_per_second", json_if(peak > 0.0, peak)},
          {"share_of_fp64_peak", json_if(peak > 0.0, rate / peak)},
          {"panels",
           {{"wanted", report.panels_wanted},
            {"sent", report.panels_sent},
            {"made_from_factors", report.panels_made},
            {"from_other_gpus", report.panels_from_peers},
            {"owned_for_other_gpus", report.panels_owned},
            {"hit_percent", 100.0 * hit_share(report)},
            {"evicted", report.panels_evicted}}},
          {"bytes_sent", report.bytes_sent},
          {"bytes_made_from_factors", report.bytes_made},
          {"slabs_of_factors_sent", report.slabs_sent},
          {"slabs_of_factors_owned_for_other_gpus", report.slabs_owned},
          {"slabs_of_factors_from_other_gpus", report.slabs_from_peers},
          {"bytes_from_other_gpus", report.bytes_from_peers},
          {"bytes_resident", report.bytes_resident},
          {"peak_bytes", report.peak_bytes},
          {"memory_budget_bytes", report.memory_budget},
          {"seconds",
           {{"kernels", report.seconds_kernels},
            {"copies", report.seconds_copies},
            {"making_from_factors", report.seconds_making},
            {"waiting", report.seconds_waiting},
            {"preparing", report.seconds_preparing}}},
          {"launches", report.launches}};
}

double rate_without_sample(const CalculationResult& result) {
  const double seconds = result.seconds_tasks - (result.sample ? result.sample->seconds : 0.0);
  const double operations = result.operations - (result.sample ? result.sample->operations : 0.0);
  return seconds > 0.0 ? operations / seconds : 0.0;
}

double rate_of_sample(const CalculationResult& result) {
  if (!result.sample) return 0.0;
  const double seconds = result.sample->seconds - result.sample->seconds_preparing;
  return seconds > 0.0 ? result.sample->operations / seconds : 0.0;
}

std::string describe_devices(const Calculation& calculation, const CalculationResult& result) {
  std::string text;
  if (result.device_report) {
    text += describe_devices(calculation, *result.device_report, rate_without_sample(result),
                             result.sample ? "all tasks in mixed precision" : "");
  }
  if (result.sample && result.sample->device_report) {
    text += describe_devices(calculation, *result.sample->device_report, rate_of_sample(result),
                             "sample in double precision");
  }
  return text;
}

}
