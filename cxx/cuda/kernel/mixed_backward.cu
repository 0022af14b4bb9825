#include <array>
#include <utility>

#include "cxx/cuda/kernel/backward.hpp"
#include "cxx/cuda/kernel/mixed_backward_kernel.cuh"
#include "cxx/cuda/schedule/backward_program.hpp"

namespace trifuse::gpu {

namespace {

constexpr BackwardTiles mixed_tiles = backward_tiles(Precision::mixed);

template <int... n>
constexpr auto mixed_backward_kernels_of(std::integer_sequence<int, n...>) {
  constexpr int narrowest = mixed_tiles.narrowest;
  return std::array{
      BackwardKernel{reinterpret_cast<const void*>(&mixed_backward_kernel<MixedBackwardConfig<narrowest + n>>),
                     MixedBackwardConfig<narrowest + n>::threads,
                     MixedBackwardConfig<narrowest + n>::stages * MixedBackwardConfig<narrowest + n>::stage_bytes}...};
}

}

std::span<const BackwardKernel> mixed_backward_kernels() {
  static const auto all =
      mixed_backward_kernels_of(std::make_integer_sequence<int, mixed_tiles.widest - mixed_tiles.narrowest + 1>{});
  return all;
}

}
