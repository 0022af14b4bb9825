#include "cxx/cuda/runtime/launch_program.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "cxx/base/clock.hpp"

namespace trifuse::gpu {

namespace {

/// Sends the arrays of a program and makes `work` point to them.
void send(const LaunchProgram& program, Work& work, LaunchBuffers& buffers) {
  ArraysInOne arrays;
  const std::size_t tasks_at = arrays.add<TaskData>(program.tasks.size());
  const std::size_t phases_at = arrays.add<Phase>(program.phases.size());
  const std::size_t pairs_at = arrays.add<const double*>(program.pairs.size());
  const std::size_t items_at = arrays.add<Item>(program.items.size());
  buffers.host_program.reserve(arrays.bytes);
  buffers.device_program.reserve(arrays.bytes);
  const auto put = [&]<typename T>(const std::vector<T>& from, std::size_t offset) {
    std::copy(from.begin(), from.end(), reinterpret_cast<T*>(buffers.host_program.data() + offset));
    return reinterpret_cast<const T*>(buffers.device_program.data() + offset);
  };
  work.tasks = put(program.tasks, tasks_at);
  work.phases = put(program.phases, phases_at);
  work.pairs = put(program.pairs, pairs_at);
  work.items = put(program.items, items_at);
  work.items_count = static_cast<std::uint32_t>(program.items.size());
  TRIFUSE_CUDA(cudaMemcpyAsync(buffers.device_program.data(), buffers.host_program.data(), arrays.bytes,
                               cudaMemcpyHostToDevice, buffers.stream));
}

}  // namespace

void LaunchProgram::clear() {
  tasks.clear();
  phases.clear();
  pairs.clear();
  items.clear();
}

LaunchBuffers::LaunchBuffers(std::int64_t scratch_doubles)
    : scratch(static_cast<std::size_t>(scratch_doubles)), next_item(1) {
  TRIFUSE_CUDA(cudaMemsetAsync(next_item.data(), 0, sizeof(std::uint32_t), stream));
}

Work work_of(SpinFormulation formulation, int sides, int sets) {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  Work work{};
  work.sides = sides;
  work.sets = sets;
  work.targets = adapted ? 6 : 1;
  work.terms = disconnected_terms(formulation);
  work.phase_sign = adapted ? 0u : 0x80000000u;
  return work;
}

std::span<const double> run_program(const LaunchProgram& program, const Kernel& kernel, SpinFormulation formulation,
                                    bool two_sided, int multiprocessors, Work work, LaunchBuffers& buffers) {
  const cudaStream_t stream = buffers.stream;
  const auto warps = static_cast<std::size_t>(kernel.shape.warps), items = program.items.size();
  const auto sums =
      static_cast<std::size_t>(formulation == SpinFormulation::spin_adapted ? spin_adapted_sums : spin_orbital_sums) *
      static_cast<std::size_t>(work.omega2_count);
  const std::size_t sums_count = program.tasks.size() * sums;
  send(program, work, buffers);
  buffers.item_sums.reserve(items * warps * sums);
  buffers.task_sums.reserve(sums_count);
  buffers.host_sums.reserve(sums_count);
  work.sums = buffers.item_sums.data();
  work.scratch = buffers.scratch.data();
  work.next_item = buffers.next_item.data();
  const auto grid = static_cast<int>(std::min(items, static_cast<std::size_t>(multiprocessors)));
  TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_begin, stream));
  if (grid > 0) launch(kernel, formulation, two_sided, grid, work, stream);
  TRIFUSE_CUDA(cudaEventRecord(buffers.kernel_end, stream));
  launch_task_sums(work, formulation, kernel.shape.warps, static_cast<int>(program.tasks.size()),
                   buffers.task_sums.data(), stream);
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

}  // namespace trifuse::gpu
