#pragma once

#include <span>
#include <string_view>

/// Models of GPUs by their data sheets. Predictions and advice to users read this table.
namespace trifuse::gpu {

/// A model of GPUs. Rates are operations per second or bytes per second.
struct GpuModel {
  const char* name;         ///< name for users, e.g. "h200"
  const char* device_name;  ///< a part of the name that CUDA gives to the device
  double multiprocessors;   ///< number of multiprocessors
  double fp64_matrix;       ///< peak of FP64 matrix instructions; `fp64_vector` if the GPU has none
  double fp64_vector;       ///< peak of ordinary FP64 instructions
  double fp32_vector;       ///< peak of ordinary FP32 instructions
  double half_matrix;       ///< peak of products of FP16 numbers with FP32 sums, without sparsity
  double half_share;        ///< fraction of `half_matrix` that the instruction m16n8k16 reaches
  bool wgmma;               ///< true: the kernel in mixed precision is the one with the instruction wgmma
  double free_memory;       ///< free memory of a GPU that nobody uses, GiB
  double memory_rate;       ///< rate of the memory of the GPU, bytes per second
  double link;              ///< rate from the host to the GPU, bytes per second

  /// Returns the peak of products in mixed precision: three products of FP16 numbers for each product.
  double mixed_peak() const { return half_matrix * half_share / 3.0; }
};

/// Returns all known models. The first one is the H200, on which kernels were measured.
std::span<const GpuModel> gpu_models();
/// Returns the model of a device. `device_name`: the name by CUDA, e.g. "NVIDIA H200". Returns null if the model is not
/// known.
const GpuModel* gpu_model_of(std::string_view device_name);

/// Predicted rates of the kernels on a model, operations per second. It is assumed that the kernels reach the same
/// fractions of the peaks as on the H200, on which alone they were measured.
struct KernelRates {
  double in_double, mixed;

  /// Returns true if the rate in double precision is less than a tenth of that in mixed precision.
  bool double_is_slow() const { return in_double < 0.1 * mixed; }
};
KernelRates kernel_rates(const GpuModel& model);

/// A number for each spin formulation.
struct PerFormulation {
  double spin_orbital, spin_adapted;
};
/// Rates of the kernels on the H200 for products of nonzero numbers, operations per second. Fitted to measured runs,
/// see drivers/docs/planning.md.
inline constexpr PerFormulation measured_in_double{53.2e12, 49.4e12};

/// A kernel in mixed precision on the H200: rates of products, and seconds of a multiprocessor for a target of a CTA
/// tile without products. The sources are in drivers/docs/planning.md.
struct MixedKernelModel {
  PerFormulation rate, target;
};
inline constexpr MixedKernelModel measured_with_wgmma{{194e12, 194e12}, {8.9e-6, 28.1e-6}},
    measured_with_mma{{145e12, 121e12}, {16.3e-6, 17.5e-6}};
/// Returns the kernel in mixed precision that a model runs.
constexpr const MixedKernelModel& mixed_kernel(const GpuModel& model) {
  return model.wgmma ? measured_with_wgmma : measured_with_mma;
}

}
