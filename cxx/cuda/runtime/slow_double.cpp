#include "cxx/cuda/runtime/slow_double.hpp"

#include <fmt/format.h>

#include "cxx/cuda/schedule/gpu_models.hpp"

namespace trifuse {

namespace {

/// Returns true for GPUs whose FP64 rate is 1/64 of their FP32 rate (8.6, 8.9, 12.0, 12.1), or nearly so (10.3).
bool has_few_fp64_units(const DeviceInfo& device) {
  const int capability = 10 * device.major + device.minor;
  return capability == 86 || capability == 89 || capability == 103 || capability >= 120;
}

/// Returns a time in the largest unit of which there are at least two.
std::string about(double seconds) {
  constexpr double minute = 60.0, hour = 3600.0;
  if (seconds >= 2.0 * hour) return fmt::format("{:.1f} hours", seconds / hour);
  if (seconds >= 2.0 * minute) return fmt::format("{:.1f} minutes", seconds / minute);
  return fmt::format("{:.3g} seconds", seconds);
}

}

std::string advise_mixed_precision(const std::vector<DeviceInfo>& devices, double operations, double of_sample) {
  double in_double = 0.0, mixed = 0.0;
  bool known = true;
  for (const DeviceInfo& device : devices) {
    const gpu::GpuModel* const model = gpu::gpu_model_of(device.name);
    if (model == nullptr ? !has_few_fp64_units(device) : !gpu::kernel_rates(*model).double_is_slow()) return {};
    known = known && model != nullptr;
    if (model == nullptr) continue;
    in_double += gpu::kernel_rates(*model).in_double;
    mixed += gpu::kernel_rates(*model).mixed;
  }
  constexpr double worth_saying = 0.5;
  if (devices.empty() || of_sample > worth_saying * operations) return {};
  const std::string& name = devices.front().name;
  if (!known) {
    return fmt::format(
        "{} has few units for double precision: --precision mixed would be many times as fast (not measured), and the "
        "energies would have an error bar.",
        name);
  }
  return fmt::format(
      "{} has few units for double precision: with --precision mixed the tasks would take about {} instead of {} on {} "
      "GPU{} (by data sheets, not measured), and the energies would have an error bar.",
      name, about(operations / mixed + of_sample / in_double), about(operations / in_double), devices.size(),
      devices.size() == 1 ? "" : "s");
}

}
