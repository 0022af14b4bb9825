#include "cxx/cuda/kernel/backward.hpp"

#include <array>
#include <utility>

#include "cxx/cuda/kernel/backward_kernel.cuh"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/schedule/backward_program.hpp"

namespace trifuse::gpu {

namespace {

struct BackwardKernel {
  const void* function;
  int threads, shared_bytes;
};

template <int... n>
constexpr std::array<BackwardKernel, sizeof...(n)> backward_kernels_of(std::integer_sequence<int, n...>) {
  return {BackwardKernel{reinterpret_cast<const void*>(&backward_kernel<BackwardConfig<narrowest_backward_tile + n>>),
                         BackwardConfig<narrowest_backward_tile + n>::threads,
                         BackwardConfig<narrowest_backward_tile + n>::stages *
                             BackwardConfig<narrowest_backward_tile + n>::stage_bytes}...};
}

const auto& backward_kernels() {
  static const auto all =
      backward_kernels_of(std::make_integer_sequence<int, widest_backward_tile - narrowest_backward_tile + 1>{});
  return all;
}

}

void launch_backward(int width, int grid, const BackwardParameters& parameters, cudaStream_t stream) {
  const BackwardKernel& kernel = backward_kernels()[static_cast<std::size_t>(width - narrowest_backward_tile)];
  BackwardParameters argument = parameters;
  void* arguments[] = {&argument};
  TRIFUSE_CUDA(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(grid)),
                                dim3(static_cast<unsigned>(kernel.threads)), arguments,
                                static_cast<std::size_t>(kernel.shared_bytes), stream));
}

void set_backward_limits() {
  for (const BackwardKernel& kernel : backward_kernels()) {
    TRIFUSE_CUDA(
        cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
  }
}

}
