#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/cuda/kernel/element_loop.cuh"
#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/kernel_bench.hpp"

/// Random operands in device memory, and the times of kernels that use them.
namespace trifuse::gpu {

/// Fills x [n] with pseudo-random numbers between shift - scale and shift + scale, because zeros would be computed
/// faster.
static __global__ void fill(double* x, std::size_t n, std::uint64_t seed, double scale, double shift) {
  for_elements(static_cast<std::int64_t>(n), [&](std::int64_t i) {
    std::uint64_t z = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull + seed * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    x[i] = shift + scale * (static_cast<double>(z >> 11) * 0x1p-52 - 1.0);
  });
}

inline DeviceArray<double> random_array(std::int64_t size, std::uint64_t seed, double scale = 1.0, double shift = 0.0) {
  DeviceArray<double> array(static_cast<std::size_t>(size));
  fill<<<1024, 256>>>(array.data(), array.size(), seed, scale, shift);
  TRIFUSE_CUDA(cudaGetLastError());
  return array;
}

template <typename Function>
double timed(const Event& begin, const Event& end, Function function) {
  TRIFUSE_CUDA(cudaEventRecord(begin, nullptr));
  function();
  TRIFUSE_CUDA(cudaEventRecord(end, nullptr));
  TRIFUSE_CUDA(cudaEventSynchronize(end));
  return seconds_between(begin, end);
}

/// Measures `once()` after the clock of the GPU has settled for this work. For a tenth of a second the clock depends on
/// the power that earlier work took.
template <typename Function>
std::vector<double> settled_times(int repeats, Function once) {
  constexpr double settling = 0.25;
  const double begin = wall_seconds();
  do {
    static_cast<void>(once());
  } while (wall_seconds() - begin < settling);
  std::vector<double> seconds;
  for (int r = 0; r < repeats; ++r) seconds.push_back(once());
  return seconds;
}

/// Measures how long `launch()` takes if it is called many times in a row, so that the time in which the host launches
/// the first kernel does not count. The launches of a job take tens of milliseconds.
template <typename Function>
std::vector<double> settled_times_of_launches(int repeats, Function launch) {
  constexpr double least = 2e-3;  ///< seconds of a measurement
  const Event begin, end;
  const auto launches = [&](int count) {
    const double seconds = timed(begin, end, [&] {
      for (int n = 0; n < count; ++n) launch();
    });
    return seconds / count;
  };
  static_cast<void>(launches(1));  // the first launch takes longer
  const int count = static_cast<int>(std::ceil(least / launches(1)));
  return settled_times(repeats, [&] { return launches(count); });
}

inline const cudaDeviceProp& use_device(int number) {
  TRIFUSE_CUDA(cudaSetDevice(number));
  return device_properties(number);
}

/// Returns the packing of a whole panel from rows without gaps, the first position slowest. `positions`: the positions
/// of its indices in `which.extent`.
inline Packing whole_panel(const KernelCase& which, PanelKind kind, const std::array<int, 4>& positions) {
  Packing packing{};
  packing.kind = kind;
  packing.contracted = kind == PanelKind::vvoo ? 1 : which.contracted;
  packing.outer = kind == PanelKind::left ? 1 : 2;
  std::int64_t stride = packing.contracted;
  for (std::size_t n = 4; n-- > 0;) {
    packing.extent[n] = which.extent[static_cast<std::size_t>(positions[n])];
    packing.stride[n] = stride;
    if (n < 3 || kind == PanelKind::vvoo) stride *= packing.extent[n];
  }
  packing.outer_count = packing.extent[packing.outer];
  return packing;
}

/// Returns a packed panel of random numbers.
inline DeviceArray<double> random_panel(const Packing& packing, const OperandFormat& format, std::uint64_t seed) {
  DeviceArray<double> packed(static_cast<std::size_t>(ceil_div(packed_bytes(packing, format), sizeof(double))));
  const DeviceArray<double> raw = random_array(packing.stride[0] * packing.extent[0], seed);
  launch_packing(packing, format, raw.data(), packed.data(), nullptr);
  TRIFUSE_CUDA(cudaDeviceSynchronize());
  return packed;
}

}
