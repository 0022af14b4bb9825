#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/energy_kernel.hpp"
#include "cxx/cpu/scatter.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "tce_tiles/sources/synthetic_source.hpp"

/// Benchmarks of single CPU kernels, on tiles of the sizes that the CPU executor uses. `trifuse bench` measures whole
/// runs.
namespace trifuse {
namespace {

constexpr CpuTiles tile{};

Buffer filled(std::int64_t size) {
  Buffer buffer(static_cast<std::size_t>(size));
  for (std::size_t x = 0; x < buffer.size(); ++x) buffer.data()[x] = static_cast<double>(x % 97) * 0.01 - 0.4;
  return buffer;
}

/// Adds product[h'',p'',p',h',h,p] to target[h'',h',h,p'',p',p], both in C order. `fast`: position of the product's
/// last index p among the indices of the target, counted from the last one. 0: both arrays are contiguous in p. Other
/// values: the kernel transposes.
void add_product(benchmark::State& state) {
  const Six target_extent = {tile.particles, tile.particles, tile.particles, tile.holes, tile.holes, tile.holes};
  const Six target_stride = dense_strides(target_extent);
  std::array<std::size_t, 6> slot = {0, 3, 4, 1, 2, 5};
  std::swap(slot[0], *std::find(slot.begin(), slot.end(), static_cast<std::size_t>(state.range(0))));
  Six extent{}, to{};
  for (std::size_t d = 0; d < 6; ++d) {
    extent[d] = target_extent[slot[d]];
    to[d] = target_stride[slot[d]];
  }
  const std::int64_t size = target_stride[5] * target_extent[5];
  const Buffer product = filled(size);
  Buffer target = filled(size);
  for (auto _ : state) {
    scatter(product.data(), extent, dense_strides(extent), to, 1.0, false, target.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * size);
}
BENCHMARK(add_product)->ArgName("fast")->Arg(0)->Arg(1)->Arg(2);

/// Sums the energies of a complete task without singles for one omega2: numerators, denominators and sums.
void energies(benchmark::State& state) {
  const auto targets = static_cast<std::size_t>(state.range(0));
  EnergyInput input;
  input.targets = static_cast<int>(targets);
  input.extent = {tile.particles, tile.particles, tile.particles, tile.holes, tile.holes, tile.holes};
  const std::int64_t size =
      tile.particles * tile.particles * row_length(tile.particles) * tile.holes * tile.holes * tile.holes;
  std::vector<Buffer> amplitudes;
  for (std::size_t t = 0; t < targets; ++t) {
    amplitudes.push_back(filled(size));
    input.left[0].d[t] = input.d_right[t] = amplitudes.back().data();
  }
  const std::vector<double> particles(static_cast<std::size_t>(row_length(tile.particles)), 1.0);
  const std::vector<double> holes(static_cast<std::size_t>(tile.holes), -1.0);
  input.eps = {particles.data(), particles.data(), particles.data(), holes.data(), holes.data(), holes.data()};
  const std::vector<double> omega2 = {0.0};
  std::vector<TaskEnergy> sums(1);
  for (auto _ : state) {
    sum_energies(input, omega2, sums);
    benchmark::DoNotOptimize(sums.data());
  }
  state.SetItemsProcessed(state.iterations() * size);
}
BENCHMARK(energies)->ArgName("targets")->Arg(1)->Arg(6);

/// Executes the most expensive task of a made-up molecule, from operands to energies. The rate counts the matrix
/// products.
void whole_task(benchmark::State& state) {
  const SpinFormulation formulation =
      state.range(0) == 1 ? SpinFormulation::spin_orbital : SpinFormulation::spin_adapted;
  SyntheticMolecule molecule;
  molecule.occupied_alpha = 8;
  molecule.virtual_alpha = 48;
  const std::unique_ptr<TileSource> source = make_synthetic_source(molecule);
  Problem problem;
  problem.right = source.get();
  problem.formulation = formulation;
  const Plan plan = make_plan(source->tiles(), formulation);
  const Task task = plan.tasks[plan.largest_first().front()];
  const std::unique_ptr<Executor> executor = make_cpu_executor(problem, source->tiles());
  const std::unique_ptr<Executor::Worker> worker = executor->make_worker();
  TaskEnergy energy;
  for (auto _ : state) {
    worker->execute({&task, 1}, {&energy, 1});
    benchmark::DoNotOptimize(energy);
  }
  state.counters["flops"] = benchmark::Counter(worker->operations(), benchmark::Counter::kIsRate);
}
BENCHMARK(whole_task)->ArgName("targets")->Arg(1)->Arg(6)->Unit(benchmark::kMillisecond);

}
}
