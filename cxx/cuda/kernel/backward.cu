#include "cxx/cuda/kernel/backward.hpp"

#include <array>
#include <utility>

#include "cxx/cuda/kernel/backward_kernel.cuh"
#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/schedule/backward_program.hpp"

namespace trifuse::gpu {

namespace {

template <int... n>
constexpr auto backward_kernels_of(std::integer_sequence<int, n...>) {
  constexpr int narrowest = backward_tiles(Precision::fp64).narrowest;
  return std::array{
      BackwardKernel{reinterpret_cast<const void*>(&backward_kernel<BackwardConfig<narrowest + n>>),
                     BackwardConfig<narrowest + n>::threads,
                     BackwardConfig<narrowest + n>::stages * BackwardConfig<narrowest + n>::stage_bytes}...};
}

std::span<const BackwardKernel> backward_kernels(Precision precision) {
  return precision == Precision::mixed ? mixed_backward_kernels() : double_backward_kernels();
}

}

std::span<const BackwardKernel> double_backward_kernels() {
  constexpr BackwardTiles tiles = backward_tiles(Precision::fp64);
  static const auto all = backward_kernels_of(std::make_integer_sequence<int, tiles.widest - tiles.narrowest + 1>{});
  return all;
}

void launch_backward(Precision precision, int width, int grid, const BackwardParameters& parameters,
                     cudaStream_t stream) {
  const BackwardKernel& kernel =
      backward_kernels(precision)[static_cast<std::size_t>(width - backward_tiles(precision).narrowest)];
  BackwardParameters argument = parameters;
  void* arguments[] = {&argument};
  TRIFUSE_CUDA(cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(grid)),
                                dim3(static_cast<unsigned>(kernel.threads)), arguments,
                                static_cast<std::size_t>(kernel.shared_bytes), stream));
}

void set_backward_limits(Precision precision) {
  for (const BackwardKernel& kernel : backward_kernels(precision)) {
    TRIFUSE_CUDA(
        cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel.shared_bytes));
  }
}

}
