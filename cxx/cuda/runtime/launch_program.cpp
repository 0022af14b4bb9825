#include "cxx/cuda/runtime/launch_program.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "cxx/base/clock.hpp"

namespace trifuse::gpu {

namespace {

/// Sends the arrays of a program to the device and makes `parameters` point to them.
void send(const LaunchProgram& program, KernelParameters& parameters, LaunchBuffers& buffers) {
  ArraysInOne arrays;
  const std::size_t tasks_at = arrays.add<TaskData>(program.tasks.size());
  const std::size_t products_at = arrays.add<KernelProduct>(program.products.size());
  const std::size_t vvoo_at = arrays.add<const double*>(program.vvoo.size());
  const std::size_t cta_tiles_at = arrays.add<CtaTile>(program.cta_tiles.size());
  buffers.host_program.reserve(arrays.bytes);
  buffers.device_program.reserve(arrays.bytes);
  const auto put = [&]<typename T>(const std::vector<T>& from, std::size_t offset) {
    std::copy(from.begin(), from.end(), reinterpret_cast<T*>(buffers.host_program.data() + offset));
    return reinterpret_cast<const T*>(buffers.device_program.data() + offset);
  };
  parameters.tasks = put(program.tasks, tasks_at);
  parameters.products = put(program.products, products_at);
  parameters.vvoo = put(program.vvoo, vvoo_at);
  parameters.cta_tiles = put(program.cta_tiles, cta_tiles_at);
  parameters.cta_tile_count = static_cast<std::uint32_t>(program.cta_tiles.size());
  TRIFUSE_CUDA(cudaMemcpyAsync(buffers.device_program.data(), buffers.host_program.data(), arrays.bytes,
                               cudaMemcpyHostToDevice, buffers.stream));
}

}

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
                                    bool two_sided, int multiprocessors, KernelParameters parameters,
                                    LaunchBuffers& buffers) {
  const cudaStream_t stream = buffers.stream;
  const auto warps = static_cast<std::size_t>(kernel.shape.warps), cta_tiles = program.cta_tiles.size();
  const auto sums =
      static_cast<std::size_t>(energy_sums(formulation)) * static_cast<std::size_t>(parameters.omega2_count);
  const std::size_t sums_count = program.tasks.size() * sums;
  send(program, parameters, buffers);
  buffers.warp_sums.reserve(cta_tiles * warps * sums);
  buffers.task_sums.reserve(sums_count);
  buffers.host_sums.reserve(sums_count);
  parameters.warp_sums = buffers.warp_sums.data();
  parameters.scratch = buffers.scratch.data();
  parameters.next_cta_tile = buffers.next_cta_tile.data();
  const auto grid = static_cast<int>(std::min(cta_tiles, static_cast<std::size_t>(multiprocessors)));
  TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_begin, stream));
  if (grid > 0) launch(kernel, formulation, two_sided, grid, parameters, stream);
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
