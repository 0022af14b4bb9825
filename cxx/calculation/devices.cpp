#include "cxx/calculation/devices.hpp"

#include <algorithm>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/plan/plan.hpp"

namespace trifuse {

CudaOptions cuda_options(const CalculationOptions& options, Precision precision, bool of_rank) {
  CudaOptions cuda;
  cuda.devices = options.devices;
  cuda.memory_per_device = options.memory.value_or(0);
  cuda.precision = precision;
  // A kernel of the user is one of the precision of the options.
  if (precision == options.precision) cuda.kernel = options.kernel;
  cuda.waits_for_memory = !of_rank;
  return cuda;
}

void start_devices(const TileSpace& right, const CalculationOptions& options, bool of_rank) {
  if (options.devices.empty()) return;
  test_cuda_devices(options.formulation.value_or(default_formulation(right)),
                    cuda_options(options, options.precision, of_rank));
}

ExecutorKind choose_executor(const TileSpace& right, std::optional<SpinFormulation> formulation, Precision precision) {
  const auto any_gpu = [] {
    const std::vector<DeviceInfo> visible = visible_devices();
    return std::any_of(visible.begin(), visible.end(), is_supported);
  };
  if (precision == Precision::mixed) {
    if (any_gpu()) return ExecutorKind::cuda;
    throw UsageError(
        "Mixed precision is for GPUs, and there is none that Trifuse can use; compute in double precision, or choose "
        "the device cpu, which emulates it slowly.");
  }
  // CPU cores finish fewer operations before GPUs are set up.
  constexpr double least_operations = 1e10;
  const SpinFormulation chosen = formulation.value_or(default_formulation(right));
  if (chosen == SpinFormulation::spin_adapted && !right.restricted())
    return ExecutorKind::cpu;  // the calculation will refuse this combination
  const TileSpace tiles = retile(right, default_tiling(right, chosen, true));
  if (make_plan(tiles, chosen).total_operations < least_operations) return ExecutorKind::cpu;
  // This question comes last, because CUDA needs time to answer it.
  return any_gpu() ? ExecutorKind::cuda : ExecutorKind::cpu;
}

}
