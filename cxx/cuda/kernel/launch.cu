#include <vector>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/packing.cuh"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

/// One thread block for each task. Thread t adds up the sums of CTA tiles t, t + 256, ...; then the threads' sums are
/// added in pairs. So the order is always the same. The sums of several CTA tiles are loaded at a time.
constexpr int sum_threads = 256;

template <int sums, int warps>
__global__ void task_sums(KernelParameters parameters, double* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *parameters.next_cta_tile = 0;  // for the next launch
  __shared__ double part[sums][sum_threads];
  const TaskData& task = parameters.tasks[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  for (int w = 0; w < parameters.omega2_count; ++w) {
    double sum[sums] = {};
    constexpr int at_once = 64 / (sums * warps);
    for (std::int64_t first = thread; first < task.cta_tiles; first += sum_threads * at_once) {
      double of_warps[at_once][warps * sums] = {};
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const std::int64_t n = first + i * sum_threads;
        if (n >= task.cta_tiles) break;
        const double* from =
            parameters.warp_sums + ((task.first_cta_tile + n) * parameters.omega2_count + w) * warps * sums;
#pragma unroll
        for (int m = 0; m < warps * sums; ++m) of_warps[i][m] = from[m];
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
#pragma unroll
        for (int m = 0; m < warps * sums; ++m) sum[m % sums] += of_warps[i][m];
      }
    }
#pragma unroll
    for (int s = 0; s < sums; ++s) part[s][thread] = sum[s];
    __syncthreads();
    for (int half = sum_threads / 2; half > 0; half /= 2) {
      if (thread < half) {
#pragma unroll
        for (int s = 0; s < sums; ++s) part[s][thread] += part[s][thread + half];
      }
      __syncthreads();
    }
    if (thread < sums) {
      out[(static_cast<std::int64_t>(blockIdx.x) * parameters.omega2_count + w) * sums + thread] =
          task.factor * part[thread][0];
    }
    __syncthreads();
  }
}

template <typename... First, typename... Last, typename... Mixed>
std::vector<Kernel> kernels_of(ConfigurationList<First...>, ConfigurationList<Last...>, ConfigurationList<Mixed...>) {
  return {kernel_of<First>()..., kernel_of<Last>()..., kernel_of<Mixed>()...};
}

}  // namespace

std::span<const Kernel> kernels() {
  static const std::vector<Kernel> all = kernels_of(BulkKernels{}, CooperativeKernels{}, MixedKernels{});
  return all;
}

bool runs_on(const Kernel& kernel, int capability, int shared_bytes) {
  const bool architecture =
      kernel.exact_architecture ? capability == kernel.architecture : capability >= kernel.architecture;
  const auto fits = [&](const CtaMemory& of) { return of.dynamic_shared + of.static_shared <= shared_bytes; };
  return architecture && fits(kernel.spin_orbital) && fits(kernel.spin_adapted);
}

void set_dynamic_shared_limit(const Kernel& kernel, SpinFormulation formulation, bool two_sided) {
  TRIFUSE_CUDA(cudaFuncSetAttribute(kernel.function(formulation, two_sided),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kernel.memory(formulation).dynamic_shared));
}

KernelResources resources(const Kernel& kernel, SpinFormulation formulation, bool two_sided) {
  cudaFuncAttributes attributes{};
  TRIFUSE_CUDA(cudaFuncGetAttributes(&attributes, kernel.function(formulation, two_sided)));
  return {attributes.numRegs, static_cast<std::int64_t>(attributes.localSizeBytes)};
}

void launch(const Kernel& kernel, SpinFormulation formulation, bool two_sided, int grid,
            const KernelParameters& parameters, cudaStream_t stream) {
  KernelParameters argument = parameters;
  void* arguments[] = {&argument};
  TRIFUSE_CUDA(cudaLaunchKernel(kernel.function(formulation, two_sided), dim3(static_cast<unsigned>(grid)),
                                dim3(static_cast<unsigned>(kernel.threads)), arguments,
                                static_cast<std::size_t>(kernel.memory(formulation).dynamic_shared), stream));
}

void launch_task_sums(const KernelParameters& parameters, SpinFormulation formulation, int tasks, double* out,
                      cudaStream_t stream) {
  if (formulation == SpinFormulation::spin_adapted) {
    task_sums<spin_adapted_sums, math_warps><<<tasks, sum_threads, 0, stream>>>(parameters, out);
  } else {
    task_sums<spin_orbital_sums, math_warps><<<tasks, sum_threads, 0, stream>>>(parameters, out);
  }
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_packing(const Packing& packing, const OperandFormat& format, const double* raw, void* packed,
                    cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    launch_packing_in<Precision>(packing, RawRows{raw}, packed, stream);
  });
}

}  // namespace trifuse::gpu
