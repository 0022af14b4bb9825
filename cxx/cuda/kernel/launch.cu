#include <algorithm>
#include <array>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/launch.hpp"

namespace trifuse::gpu {

Kernel bulk_4x4x2();
Kernel bulk_4x2x4();
Kernel bulk_2x4x4();
Kernel m16n8k8_4x4x2();
Kernel m8n8k4_4x4x2();
Kernel fma_2x2x2();

namespace {

/// One block for each task; thread t adds the warps' sums of every 256th item, then the threads' sums are added in
/// pairs: always in the same order.
constexpr int sum_threads = 256;

template <int sums>
__global__ void task_sums(Work work, int warps, double* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *work.next_item = 0;  // for the next launch
  __shared__ double part[sums][sum_threads];
  const TaskData& task = work.tasks[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  for (int w = 0; w < work.omega2_count; ++w) {
    double sum[sums] = {};
    for (std::int64_t n = thread; n < task.items; n += sum_threads) {
      const double* of_item = work.sums + ((task.first_item + n) * work.omega2_count + w) * warps * sums;
      for (int warp = 0; warp < warps; ++warp) {
#pragma unroll
        for (int s = 0; s < sums; ++s) sum[s] += of_item[warp * sums + s];
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
      out[(static_cast<std::int64_t>(blockIdx.x) * work.omega2_count + w) * sums + thread] =
          task.factor * part[thread][0];
    }
    __syncthreads();
  }
}

__global__ void pack(Packing packing, const double* raw, double* packed, std::int64_t elements) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedElement element = packed_element<Fp64>(packing, n);
    packed[element.packed] = element.raw < 0 ? 0.0 : raw[element.raw];
  }
}

}  // namespace

std::span<const Kernel> kernels() {
  static const std::array<Kernel, 6> all = {bulk_4x4x2(),    bulk_4x2x4(),   bulk_2x4x4(),
                                            m16n8k8_4x4x2(), m8n8k4_4x4x2(), fma_2x2x2()};
  return all;
}

bool runs_on(const Kernel& kernel, int capability, int shared_bytes) {
  const bool architecture =
      kernel.exact_architecture ? capability == kernel.architecture : capability >= kernel.architecture;
  const auto fits = [&](const BlockMemory& of) { return of.shared_at_launch + of.shared_fixed <= shared_bytes; };
  return architecture && fits(kernel.spin_orbital) && fits(kernel.spin_adapted);
}

void prepare(const Kernel& kernel, SpinFormulation formulation, bool two_sided) {
  TRIFUSE_CUDA(cudaFuncSetAttribute(kernel.function(formulation, two_sided),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kernel.memory(formulation).shared_at_launch));
}

KernelResources resources(const Kernel& kernel, SpinFormulation formulation, bool two_sided) {
  cudaFuncAttributes attributes{};
  TRIFUSE_CUDA(cudaFuncGetAttributes(&attributes, kernel.function(formulation, two_sided)));
  return {attributes.numRegs, static_cast<std::int64_t>(attributes.localSizeBytes)};
}

void launch(const Kernel& kernel, SpinFormulation formulation, bool two_sided, int grid, const Work& work,
            cudaStream_t stream) {
  Work argument = work;
  void* arguments[] = {&argument};
  TRIFUSE_CUDA(cudaLaunchKernel(kernel.function(formulation, two_sided), dim3(static_cast<unsigned>(grid)),
                                dim3(static_cast<unsigned>(kernel.threads)), arguments,
                                static_cast<std::size_t>(kernel.memory(formulation).shared_at_launch), stream));
}

void launch_task_sums(const Work& work, SpinFormulation formulation, int warps, int tasks, double* out,
                      cudaStream_t stream) {
  if (formulation == SpinFormulation::spin_adapted) {
    task_sums<spin_adapted_sums><<<tasks, sum_threads, 0, stream>>>(work, warps, out);
  } else {
    task_sums<spin_orbital_sums><<<tasks, sum_threads, 0, stream>>>(work, warps, out);
  }
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_packing(const Packing& packing, const double* raw, double* packed, cudaStream_t stream) {
  const std::int64_t elements = packed_size_at_hand<Fp64>(packing);
  constexpr int threads = 256;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(blocks(elements, threads), 65536));
  pack<<<grid, threads, 0, stream>>>(packing, raw, packed, elements);
  TRIFUSE_CUDA(cudaGetLastError());
}

}  // namespace trifuse::gpu
