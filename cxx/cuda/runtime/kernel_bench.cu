#include "cxx/cuda/runtime/kernel_bench.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cxx/base/error.hpp"
#include "cxx/base/median.hpp"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/runtime/cublas.hpp"
#include "cxx/cuda/runtime/cuda_device.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/kernel_timing.cuh"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"

namespace trifuse {

namespace {

using namespace gpu;

/// Returns the orbital energies eps[orbital] of a task, hartree. Particles have higher energies than holes.
DeviceArray<double> random_orbital_energies(const TaskData& task) {
  DeviceArray<double> eps = random_array(task.offset[5] + task.extent[5], 77, 0.5, 0.0);
  fill<<<1, 256>>>(eps.data(), static_cast<std::size_t>(task.offset[3]), 78, 0.5, 2.0);
  TRIFUSE_CUDA(cudaGetLastError());
  return eps;
}

std::vector<std::string> names_of(const std::vector<const Kernel*>& kernels) {
  std::vector<std::string> names;
  for (const Kernel* kernel : kernels) names.push_back(kernel->name);
  return names;
}

constexpr int independent_fragments = 8;  ///< accumulators of a warp in multiply_only()

template <typename Instruction>
__global__ void multiply_only(double* out, int repetitions) {
  double c[independent_fragments][4] = {}, a[4], b[2];
  for (int n = 0; n < 4; ++n) a[n] = 1e-3 * (threadIdx.x + n);
  for (int n = 0; n < 2; ++n) b[n] = 1e-3 * (threadIdx.x - n);
#pragma unroll 1
  for (int r = 0; r < repetitions; ++r) {
#pragma unroll
    for (int n = 0; n < independent_fragments; ++n) multiply(Instruction{}, c[n], a, b);
  }
  double sum = 0.0;
  for (int n = 0; n < independent_fragments; ++n) sum += c[n][0] + c[n][1] + c[n][2] + c[n][3];
  if (sum == 12345.0) out[0] = sum;
}

/// The kernel with this name; if the name is empty, the best kernel of the precision for a case.
struct Choice {
  std::array<int, 3> particles;
  const Kernel* kernel;

  Choice(const KernelCase& which, const std::string& name, Precision precision, const cudaDeviceProp& device)
      : particles{which.extent[0], which.extent[1], which.extent[2]} {
    const std::vector<const Kernel*> candidates = choose_kernels(name, precision, device);
    kernel = candidates[ShapeSelector(shapes_of(candidates)).best(particles)];
  }
};

}

double KernelCase::operations() const {
  double product = 2.0 * products_per_target * contracted;
  for (const int n : extent) product *= n;
  return product;
}

std::vector<KernelCase> standard_kernel_cases() {
  std::vector<KernelCase> cases;
  const auto equal = [&](const char* name, int t, int contracted) {
    cases.push_back({name, {t, t, t, t, t, t}, contracted});
  };
  equal("T=16 4x16+16x16", 16, 320);
  equal("T=20 3x20+12x20", 20, 300);
  equal("T=24 3x24+10x24", 24, 312);
  equal("T=28 2x28+8x28", 28, 280);
  equal("T=32 2x32+8x32", 32, 320);
  equal("T=40 2x40+5x40", 40, 280);
  equal("S-A 16", 16, 32);
  cases.push_back({"S-B i=64, 16", {16, 16, 16, 64, 16, 16}, 32});
  equal("S-C 24", 24, 48);
  cases.push_back({"S-D 15,16,16,19,20,20,20", {19, 20, 20, 15, 16, 16}, 40});
  equal("S-E 28", 28, 56);
  return cases;
}

std::string chosen_kernel(const KernelCase& which, Precision precision, int device_number) {
  return Choice(which, {}, precision, device_properties(device_number)).kernel->name;
}

std::vector<std::string> usable_kernels(Precision precision, int device_number) {
  return names_of(kernels_for(precision, device_properties(device_number)));
}

std::vector<std::string> candidate_kernels(Precision precision, int device_number) {
  return names_of(choose_kernels({}, precision, device_properties(device_number)));
}

KernelTimes time_kernel(const KernelCase& which, const std::string& name, Precision precision, int repeats,
                        int device_number) {
  const cudaDeviceProp device = use_device(device_number);
  const Choice choice(which, name, precision, device);
  const Kernel* kernel = choice.kernel;
  CtaTiling tiling(kernel->shape);
  constexpr SpinFormulation formulation = SpinFormulation::spin_orbital;
  set_dynamic_shared_limit(*kernel, formulation, EnergyKind::one_side);

  TaskData task = single_task(which.extent);
  const std::int32_t orbitals = task.offset[5] + task.extent[5];
  std::vector<CtaTile> cta_tiles;
  append_cta_tiles(0, task, formulation, kernel->shape, tiling, cta_tiles);
  task.cta_tiles = static_cast<std::int64_t>(cta_tiles.size());

  std::vector<DeviceArray<double>> operands;
  std::vector<KernelProduct> products;
  std::vector<const double*> vvoo;
  const auto operand = [&](PanelKind kind, std::array<int, 4> positions) {
    operands.push_back(random_panel(whole_panel(which, kind, positions),
                                    kind == PanelKind::vvoo ? vvoo_format : kernel->shape.format, operands.size()));
    return operands.back().data();
  };
  for (int n = 0; n < products_per_target; ++n) {
    const ProductAxes axes = axes_of_product(n);
    const auto [u, w] = others(axes.particle);
    const auto [h1, h2] = others(axes.hole);
    const double* a = operand(PanelKind::left, {axes.particle, 3 + h1, 3 + h2, 0});
    const double* b = operand(PanelKind::right, {u, w, 3 + axes.hole, 0});
    products.push_back({a, b, static_cast<std::int32_t>(ceil_div(which.contracted, kernel->shape.format.k_step)), 0});
  }
  for (int x = 0; x < 3; ++x) {
    for (int y = 0; y < 3; ++y) {
      vvoo.push_back(operand(PanelKind::vvoo, {others(x)[0], others(x)[1], 3 + others(y)[0], 3 + others(y)[1]}));
    }
  }
  const auto tasks_on_device = to_device(std::vector<TaskData>{task});
  const auto products_on_device = to_device(products);
  const auto vvoo_on_device = to_device(vvoo);
  const auto cta_tiles_on_device = to_device(cta_tiles);
  const auto omega2 = to_device(std::vector<double>{0.0});
  const auto eps = random_orbital_energies(task);
  const auto ov_tensors = random_array(std::int64_t{orbitals} * orbitals, 79);
  const int grid = std::min<int>(device.multiProcessorCount, static_cast<int>(cta_tiles.size()));
  const DeviceArray<double> scratch(static_cast<std::size_t>(grid * kernel->shape.cta_elements));
  const DeviceArray<double> warp_sums(cta_tiles.size() *
                                      static_cast<std::size_t>(kernel->shape.warps * spin_orbital_sums));
  const DeviceArray<double> task_sums(spin_orbital_sums);
  const auto next_cta_tile = to_device(std::vector<std::uint32_t>{0});

  KernelParameters parameters = base_parameters(formulation, 1, 1);
  parameters.tasks = tasks_on_device.data();
  parameters.products = products_on_device.data();
  parameters.vvoo = vvoo_on_device.data();
  parameters.cta_tiles = cta_tiles_on_device.data();
  parameters.eps = eps.data();
  parameters.omega2 = omega2.data();
  parameters.ov_tensors[0] = ov_tensors.data();
  parameters.warp_sums = warp_sums.data();
  parameters.scratch = scratch.data();
  parameters.next_cta_tile = next_cta_tile.data();
  parameters.cta_tile_count = static_cast<std::uint32_t>(cta_tiles.size());
  parameters.orbitals = orbitals;
  parameters.omega2_count = 1;

  const auto once = [&] {
    launch(*kernel, formulation, EnergyKind::one_side, grid, parameters, nullptr);
    launch_task_sums(parameters, formulation, {&task, 1}, task_sums.data(), nullptr);
  };
  double holes = 1.0;
  for (std::size_t q = 3; q < 6; ++q) holes *= static_cast<double>(ceil_div(which.extent[q], hole_group_size));
  const double modelled = holes * tiling.cost(choice.particles) / device.multiProcessorCount;
  const KernelResources used = resources(*kernel, formulation, EnergyKind::one_side);
  return {kernel->name,    settled_times_of_launches(repeats, once), task.cta_tiles, modelled, used.registers,
          used.local_bytes};
}

double time_cublas_dgemm(int n, int repeats, int device_number) {
  static_cast<void>(use_device(device_number));
  const Cublas cublas;
  if (!cublas.loaded()) return 0.0;
  const std::int64_t size = std::int64_t{n} * n;
  const auto a = random_array(size, 1), b = random_array(size, 2), c = random_array(size, 3);
  const Event begin, end;
  bool accepted = true;
  const auto once = [&] {
    return timed(begin, end, [&] { accepted &= cublas.multiply(n, 1, a.data(), 0, b.data(), c.data()); });
  };
  const std::vector<double> seconds = settled_times(repeats, once);
  if (!accepted) return 0.0;
  return 2.0 * n * static_cast<double>(size) / median(seconds);
}

double time_matrix_instruction(int device_number) {
  const cudaDeviceProp device = use_device(device_number);
  const int capability = 100 * device.major + 10 * device.minor;
  const DeviceArray<double> out(1);
  constexpr int warps = 8, repetitions = 20000;
  const Event begin, end;
  const std::vector<double> seconds = settled_times(5, [&] {
    return timed(begin, end, [&] {
      const auto blocks_count = static_cast<unsigned>(device.multiProcessorCount);
      if (capability >= MmaM16N8K8::architecture) {
        multiply_only<MmaM16N8K8><<<blocks_count, warps * 32>>>(out.data(), repetitions);
      } else if (capability >= MmaM8N8K4::architecture) {
        multiply_only<MmaM8N8K4><<<blocks_count, warps * 32>>>(out.data(), repetitions);
      } else {
        multiply_only<Fma><<<blocks_count, warps * 32>>>(out.data(), repetitions);
      }
      TRIFUSE_CUDA(cudaGetLastError());
    });
  });
  return 2.0 * Fp64::rows * Fp64::columns * Fp64::k_step * independent_fragments * repetitions * warps *
         device.multiProcessorCount / median(seconds);
}

}
