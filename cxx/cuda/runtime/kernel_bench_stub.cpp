#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "cxx/cuda/runtime/kernel_bench.hpp"

/// Replaces kernel_bench.cu in a build without CUDA.
namespace trifuse {

double KernelCase::operations() const {
  return 0.0;
}

std::vector<KernelCase> standard_kernel_cases() {
  return {};
}

std::string chosen_kernel(const KernelCase&, Precision, int) {
  return {};
}

KernelTimes time_kernel(const KernelCase&, const std::string&, Precision, int, int) {
  throw UsageError(why_no_devices());
}

std::vector<std::string> usable_kernels(Precision, int) {
  return {};
}

std::vector<std::string> candidate_kernels(Precision, int) {
  return {};
}

std::vector<double> time_backward(const KernelCase&, BackwardSide, Precision, int, int) {
  throw UsageError(why_no_devices());
}

double time_cublas_dgemm(int, int, int) {
  return 0.0;
}

double time_matrix_instruction(int) {
  return 0.0;
}

}
