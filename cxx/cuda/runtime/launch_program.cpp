#include "cxx/cuda/runtime/launch_program.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <vector>

#include "cxx/base/clock.hpp"

namespace trifuse::gpu {

void LaunchProgram::clear() {
  tasks.clear();
  products.clear();
  vvoo.clear();
  cta_tiles.clear();
}

LaunchBuffers::LaunchBuffers(std::int64_t scratch_doubles)
    : scratch(static_cast<std::size_t>(scratch_doubles)), next_cta_tile(1) {
  TRIFUSE_CUDA(cudaMemsetAsync(next_cta_tile.data(), 0, sizeof(std::uint32_t), stream));
}

KernelParameters base_parameters(SpinFormulation formulation, int sides, int sets) {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  KernelParameters parameters{};
  parameters.sides = sides;
  parameters.sets = sets;
  parameters.targets = targets_per_side(formulation);
  parameters.vvoo_per_set = disconnected_terms(formulation);
  parameters.product_sign = adapted ? 0u : 0x80000000u;
  return parameters;
}

std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    EnergyKind kind, int multiprocessors, KernelParameters parameters,
                                    LaunchBuffers& buffers, BackwardLaunch* backward) {
  const cudaStream_t stream = buffers.stream;
  const auto warps = static_cast<std::size_t>(kernel.shape.warps), cta_tiles = program.cta_tiles.size();
  const auto sums =
      static_cast<std::size_t>(energy_sums(formulation)) * static_cast<std::size_t>(parameters.omega2_count);
  const std::size_t sums_count = program.tasks.size() * sums;
  buffers.program.add(program.tasks, parameters.tasks);
  buffers.program.add(program.products, parameters.products);
  buffers.program.add(program.vvoo, parameters.vvoo);
  buffers.program.add(program.cta_tiles, parameters.cta_tiles);
  if (backward != nullptr) backward->send_with(buffers.program, parameters.derivatives, stream);
  buffers.program.send(stream);
  parameters.cta_tile_count = static_cast<std::uint32_t>(cta_tiles);
  buffers.warp_sums.reserve(cta_tiles * warps * sums);
  buffers.task_sums.reserve(sums_count);
  buffers.host_sums.reserve(sums_count);
  parameters.warp_sums = buffers.warp_sums.data();
  parameters.scratch = buffers.scratch.data();
  parameters.next_cta_tile = buffers.next_cta_tile.data();
  const auto grid = static_cast<int>(std::min(cta_tiles, static_cast<std::size_t>(multiprocessors)));
  TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_begin, stream));
  if (grid > 0) launch(kernel, formulation, kind, grid, parameters, stream);
  if (backward != nullptr) backward->run(multiprocessors, stream);
  TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_end, stream));
  launch_task_sums(parameters, formulation, program.tasks, buffers.task_sums.data(), stream);
  TRIFUSE_CUDA(cudaMemcpyAsync(buffers.host_sums.data(), buffers.task_sums.data(), sums_count * sizeof(double),
                               cudaMemcpyDeviceToHost, stream));
  TRIFUSE_CUDA(cudaEventRecord(buffers.done, stream));
  const double begin = wall_seconds();
  nvtxRangePushA("wait");
  const cudaError_t ended = cudaEventSynchronize(buffers.done);
  nvtxRangePop();
  TRIFUSE_CUDA(ended);
  buffers.seconds_waiting += wall_seconds() - begin;
  return {buffers.host_sums.data(), sums_count};
}

}
