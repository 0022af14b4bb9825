#include "cxx/calculation/executors.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/calculation/calculation.hpp"
#include "cxx/calculation/devices.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/cuda/contraction/device_workplace.hpp"
#include "cxx/moments/shared_contractions.hpp"

namespace trifuse {

namespace {

/// Returns what computes the contractions that make operands.
moments::Contract contraction_of(const CalculationState& state) {
  const int threads = state.memory.threads;
  if (state.options.executor != ExecutorKind::cuda || state.options.devices.empty())
    return moments::contract_on_cores(threads);
  return contraction::device_as_workplace(state.options.devices.front(), threads);
}

/// Makes the operands of the methods. Ranks on cores share the large contractions. A rank with a GPU makes its operands
/// alone, because an exchange takes longer than a GPU computes. Collective if there is a communicator.
void make_operands(const CalculationState& state) {
  const int threads = state.memory.threads;
  Communicator* const communicator = state.communicator;
  if (communicator != nullptr && communicator->size() > 1 && state.methods->bytes() > 0.0) {
    const double mine[] = {static_cast<double>(threads), state.options.executor == ExecutorKind::cuda ? 1.0 : 0.0};
    const std::vector<double> all = allgather(*communicator, mine);
    double fewest = mine[0], gpus = 0.0;
    for (std::size_t n = 0; n < all.size(); n += 2) {
      fewest = std::min(fewest, all[n]);
      gpus += all[n + 1];
    }
    if (gpus == 0.0) {
      const auto worth = moments::worth_sharing(static_cast<int>(fewest), communicator->size());
      return moments::share_contractions(
          *communicator, contraction_of(state), worth,
          [&](const moments::Contract& shared) { state.methods->make(threads, shared); });
    }
  }
  run_collectively(communicator, [&] {
    try {
      state.methods->make(threads, contraction_of(state));
    } catch (const DeviceError&) {
      // As a GPU that fails before the first task: cores do its work, and the run says so when it starts its executor.
      if (communicator == nullptr && state.options.devices_required) throw;
      state.methods->make(threads, moments::contract_on_cores(threads));
    }
  });
}

}

void make_sources(const CalculationState& state, const std::atomic<bool>* stop) {
  const OpenMpThreads threads(state.reading_threads());
  state.orbitals.agree(state.communicator);
  make_operands(state);
  state.orbitals.rotate(state.communicator, stop);
}

Precision precision_of_rank(const CalculationState& state) {
  return state.beside_gpus() ? Precision::fp64 : state.options.precision;
}

std::unique_ptr<Executor> prepare_executor(const CalculationState& state, const Problem& problem, Precision precision,
                                           std::vector<std::string>* left_out, const std::atomic<bool>* stop) {
  if (state.options.executor == ExecutorKind::reference) return make_reference_executor(problem, state.plan.tiles);
  if (state.options.executor == ExecutorKind::cpu) {
    const int threads_per_worker = state.assignment.threads_share_task ? state.memory.threads : 1;
    return prepare_cpu_executor(problem, state.plan.tiles, {}, threads_per_worker, precision);
  }
  CudaOptions cuda = cuda_options(state.options, precision, state.communicator != nullptr);
  cuda.left_out = left_out;
  cuda.stop = stop;
  return prepare_cuda_executor(problem, state.plan.tiles, cuda);
}

PanelExecutor* panel_executor(Executor* executor) {
  return dynamic_cast<PanelExecutor*>(executor);
}

std::shared_ptr<const PanelStore> read_all_operands(const CalculationState& state, const TileSpace& tiles) {
  auto panels = std::make_shared<PanelStore>(state.problem, tiles);
  panels->limit_made_panels(state.memory.limit_of_made());
  return panels;
}

std::shared_ptr<const PanelStore> read_all_operands(const CalculationState& state, const PanelExecutor& reader,
                                                    const std::optional<TileSpace>& tiles) {
  const TileSpace& wanted = tiles ? *tiles : reader.panel_tiles();
  if (reader.reads_sources()) return PanelStore::of_small_arrays(state.problem, wanted);
  return read_all_operands(state, wanted);
}

int threads_on_cores(const CalculationState& state) {
  const std::int64_t scratch = cpu_executor_memory(state.problem, state.plan.tiles).per_worker;
  const std::int64_t affordable = MemoryPlan::default_limit / std::max<std::int64_t>(1, scratch);
  return static_cast<int>(std::clamp<std::int64_t>(affordable, 1, state.memory.threads));
}

std::unique_ptr<Executor> make_executor_on_cores(const CalculationState& state, const Problem& problem,
                                                 std::shared_ptr<const PanelStore> panels) {
  const OpenMpThreads threads(state.memory.threads);
  // Tasks are tiled for GPUs, too large for one thread each. All threads share a task.
  auto executor = prepare_cpu_executor(problem, state.plan.tiles, {}, threads_on_cores(state));
  if (panels == nullptr || !panels->has_panels()) {
    // The layout of sums is that of the panels for the GPUs.
    const bool same_tiles = panels != nullptr && problem.derivatives != Derivatives::none;
    panels = read_all_operands(state, *executor, same_tiles ? std::optional(panels->tiles()) : std::nullopt);
  }
  executor->take_panels(std::move(panels));
  return executor;
}

std::unique_ptr<Executor> Calculation::make_executor() const {
  make_sources(*state_, nullptr);
  const OpenMpThreads threads(state_->memory.threads);
  std::unique_ptr<Executor> executor =
      prepare_executor(*state_, state_->problem, precision_of_rank(*state_), nullptr, nullptr);
  if (PanelExecutor* const reader = panel_executor(executor.get())) {
    reader->take_panels(read_all_operands(*state_, *reader));
  }
  return executor;
}

}
