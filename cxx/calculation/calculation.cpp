#include "cxx/calculation/calculation.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/calculation/context.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/cuda_executor.hpp"

namespace trifuse {

std::string to_string(ExecutorKind executor) {
  switch (executor) {
    case ExecutorKind::cpu:
      return "cpu";
    case ExecutorKind::reference:
      return "reference";
    case ExecutorKind::cuda:
      return "cuda";
  }
  return "?";
}

void start_devices(const TileSpace& right, const CalculationOptions& options, bool of_rank) {
  if (options.devices.empty()) return;
  CudaOptions cuda;
  cuda.devices = options.devices;
  cuda.precision = options.precision;
  cuda.kernel = options.kernel;
  cuda.waits_for_memory = !of_rank;
  test_cuda_devices(options.formulation.value_or(default_formulation(right)), cuda);
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

Calculation::Calculation(const TileSource& right, const TileSource* left, CalculationOptions options)
    : context_(std::make_unique<const CalculationContext>(right, left, std::move(options))) {}

Calculation::Calculation(std::unique_ptr<const CalculationContext> context) : context_(std::move(context)) {}

Calculation::Calculation(Calculation&&) noexcept = default;
Calculation::~Calculation() = default;

const CalculationOptions& Calculation::options() const {
  return context_->options();
}

const Problem& Calculation::problem() const {
  return context_->problem();
}

void CalculationResult::remove_device_reports() {
  cuda.reset();
  if (sample) sample->cuda.reset();
}

bool Calculation::two_sided() const {
  return context_->problem().two_sided();
}

const Plan& Calculation::plan() const {
  return context_->plan();
}

std::string Calculation::method(double omega2) const {
  return context_->method(omega2);
}

std::string Calculation::reference_note() const {
  return context_->reference_note();
}
const std::vector<std::string>& Calculation::input_warnings() const {
  return context_->input_warnings();
}

double Calculation::largest_denominator() const {
  return context_->largest_denominator();
}

const std::vector<DeviceInfo>& Calculation::devices() const {
  return context_->devices();
}

int Calculation::threads() const {
  return context_->threads();
}

std::int64_t Calculation::operand_bytes() const {
  return context_->operand_bytes();
}

std::int64_t Calculation::scratch_bytes() const {
  return context_->scratch_bytes();
}

std::int64_t Calculation::rotated_bytes() const {
  return context_->rotated_bytes();
}

std::int64_t Calculation::made_bytes() const {
  return context_->made_bytes();
}

bool Calculation::shares_operands() const {
  return context_->shares_operands();
}

std::unique_ptr<Executor> Calculation::make_executor() const {
  return context_->make_executor();
}

std::unique_ptr<CudaExecutor> Calculation::make_cuda_executor() const {
  return context_->make_cuda_executor();
}

CalculationResult Calculation::run(const std::atomic<bool>* stop, std::function<void(const RunProgress&)> progress,
                                   std::function<void(const std::string&)> warn,
                                   const std::function<void(const CalculationResult&)>& report) const {
  return context_->run(stop, std::move(progress), std::move(warn), report);
}

}
