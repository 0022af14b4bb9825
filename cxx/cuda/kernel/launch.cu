#include <algorithm>
#include <span>
#include <vector>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/kernel/packing.cuh"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

constexpr int sum_threads = 1024;
/// Number of CTA tiles of a part. The energies of each part of a task are added up first, then the sums of the parts.
constexpr std::int64_t part_tiles = 1024;
constexpr std::int64_t most_blocks = 65535;  ///< thread blocks of a grid along y

constexpr std::int64_t parts_of(const TaskData& task) {
  return ceil_div(task.cta_tiles, part_tiles);
}

/// Adds up rows of `sums` numbers with one thread block. Thread n of the first `sums` threads returns the sum of number
/// n over all rows. Each thread adds up the numbers at one place of the rows, then threads are added in pairs, so the
/// order is always the same. Several numbers are loaded at a time. `row_stride`: numbers from one row to the next.
template <int sums, int width>
__device__ double sum_of_rows(const double* from, std::int64_t rows, std::int64_t row_stride) {
  static_assert(sum_threads % width == 0 && width % sums == 0);
  constexpr int rows_at_once = sum_threads / width, loads = 8;
  __shared__ double part[sum_threads];
  const int thread = static_cast<int>(threadIdx.x);
  from += thread % width;
  double sum = 0.0;
  for (std::int64_t first = thread / width; first < rows; first += rows_at_once * loads) {
    double loaded[loads];
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const std::int64_t row = first + i * rows_at_once;
      loaded[i] = row < rows ? from[row * row_stride] : 0.0;
    }
#pragma unroll
    for (int i = 0; i < loads; ++i) sum += loaded[i];
  }
  part[thread] = sum;
  __syncthreads();
  for (int half = sum_threads / 2; half >= sums; half /= 2) {
    if (thread < half) part[thread] += part[thread + half];
    __syncthreads();
  }
  return part[thread];
}

/// Adds up the parts of all tasks. Thread block [y, x] works on task x, from part y on. The sums of a part replace the
/// sums of the first warp of its first CTA tile.
template <int sums>
__global__ void __launch_bounds__(sum_threads) part_sums(KernelParameters parameters) {
  constexpr int of_cta_tile = math_warps * sums;
  const TaskData& task = parameters.tasks[blockIdx.x];
  const std::int64_t stride = std::int64_t{of_cta_tile} * parameters.omega2_count;
  for (std::int64_t first = part_tiles * blockIdx.y; first < task.cta_tiles; first += part_tiles * gridDim.y) {
    for (int w = 0; w < parameters.omega2_count; ++w) {
      double* const from = parameters.warp_sums + (task.first_cta_tile + first) * stride + w * of_cta_tile;
      const double sum = sum_of_rows<sums, of_cta_tile>(from, min(part_tiles, task.cta_tiles - first), stride);
      if (threadIdx.x < sums) from[threadIdx.x] = sum;
      __syncthreads();
    }
  }
}

/// Adds up the sums of each task, with a thread block for each task. `of_parts`: true if part_sums() has added up the
/// parts.
template <int sums, bool of_parts>
__global__ void __launch_bounds__(sum_threads) task_sums(KernelParameters parameters, double* out) {
  constexpr int of_cta_tile = math_warps * sums;
  if (blockIdx.x == 0 && threadIdx.x == 0) *parameters.next_cta_tile = 0;  // for the next launch
  const TaskData& task = parameters.tasks[blockIdx.x];
  const std::int64_t stride = std::int64_t{of_cta_tile} * parameters.omega2_count;
  for (int w = 0; w < parameters.omega2_count; ++w) {
    const double* const from = parameters.warp_sums + task.first_cta_tile * stride + w * of_cta_tile;
    double sum;
    if constexpr (of_parts) {
      sum = sum_of_rows<sums, sums>(from, parts_of(task), part_tiles * stride);
    } else {
      sum = sum_of_rows<sums, of_cta_tile>(from, task.cta_tiles, stride);
    }
    if (threadIdx.x < sums) {
      out[(static_cast<std::int64_t>(blockIdx.x) * parameters.omega2_count + w) * sums + threadIdx.x] =
          task.weight * sum;
    }
    __syncthreads();
  }
}

template <int sums>
void launch_sums(const KernelParameters& parameters, std::span<const TaskData> tasks, double* out,
                 cudaStream_t stream) {
  const auto count = static_cast<unsigned>(tasks.size());
  std::int64_t parts = 0;
  for (const TaskData& task : tasks) parts = std::max(parts, parts_of(task));
  if (parts > 1) {
    const dim3 grid(count, static_cast<unsigned>(std::min(parts, most_blocks)));
    part_sums<sums><<<grid, sum_threads, 0, stream>>>(parameters);
    task_sums<sums, true><<<count, sum_threads, 0, stream>>>(parameters, out);
  } else {
    task_sums<sums, false><<<count, sum_threads, 0, stream>>>(parameters, out);
  }
}

template <typename... First, typename... Last, typename... Mixed>
std::vector<Kernel> kernels_of(ConfigurationList<First...>, ConfigurationList<Last...>, ConfigurationList<Mixed...>) {
  return {kernel_of<First>()..., kernel_of<Last>()..., kernel_of<Mixed>()...};
}

}

std::span<const Kernel> kernels() {
  static const std::vector<Kernel> all = kernels_of(BulkKernels{}, CooperativeKernels{}, MixedKernels{});
  return all;
}

bool runs_on(const Kernel& kernel, int capability, int shared_bytes) {
  const bool architecture =
      kernel.exact_architecture ? capability == kernel.architecture : capability >= kernel.architecture;
  const auto fits = [&](const CtaMemory& of) { return of.dynamic_shared + of.static_shared <= shared_bytes; };
  return architecture && fits(kernel.spin_orbital) && fits(kernel.spin_adapted) &&
         fits(kernel.spin_orbital_of_three_sides) && fits(kernel.spin_adapted_of_three_sides);
}

void set_dynamic_shared_limit(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind) {
  TRIFUSE_CUDA(cudaFuncSetAttribute(kernel.function(formulation, kind), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    kernel.memory(formulation, kind).dynamic_shared));
}

KernelResources resources(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind) {
  cudaFuncAttributes attributes{};
  TRIFUSE_CUDA(cudaFuncGetAttributes(&attributes, kernel.function(formulation, kind)));
  return {attributes.numRegs, static_cast<std::int64_t>(attributes.localSizeBytes)};
}

void launch(const Kernel& kernel, SpinFormulation formulation, EnergyKind kind, int grid,
            const KernelParameters& parameters, cudaStream_t stream) {
  KernelParameters argument = parameters;
  void* arguments[] = {&argument};
  TRIFUSE_CUDA(cudaLaunchKernel(kernel.function(formulation, kind), dim3(static_cast<unsigned>(grid)),
                                dim3(static_cast<unsigned>(kernel.threads)), arguments,
                                static_cast<std::size_t>(kernel.memory(formulation, kind).dynamic_shared), stream));
}

void launch_task_sums(const KernelParameters& parameters, SpinFormulation formulation, std::span<const TaskData> tasks,
                      double* out, cudaStream_t stream) {
  if (tasks.empty()) return;
  if (formulation == SpinFormulation::spin_adapted) {
    launch_sums<spin_adapted_sums>(parameters, tasks, out, stream);
  } else {
    launch_sums<spin_orbital_sums>(parameters, tasks, out, stream);
  }
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_packing(const Packing& packing, const OperandFormat& format, const double* raw, void* packed,
                    cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    launch_packing_in<Precision>(packing, RawRows{raw}, packed, stream);
  });
}

}
