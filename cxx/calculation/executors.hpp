#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cxx/calculation/state.hpp"
#include "cxx/operands/panel_executor.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/triples/precision.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// The executors of a calculation on this rank.
namespace trifuse {

/// Makes the operands of the methods, and rotates the orbitals if it is necessary. Collective if there is a
/// communicator. As ChosenMethods::make() and ChosenOrbitals::rotate().
void make_sources(const CalculationState& state, const std::atomic<bool>* stop);

/// Returns the precision in which this rank computes the tasks of a run. CPU cores that help GPUs compute in double
/// precision, because the emulation of mixed precision is slower.
Precision precision_of_rank(const CalculationState& state);
/// Makes the executor of the options without operands. `problem`: that of the state, or a part of it. `left_out`,
/// `stop`: as in CudaOptions.
std::unique_ptr<Executor> prepare_executor(const CalculationState& state, const Problem& problem, Precision precision,
                                           std::vector<std::string>* left_out, const std::atomic<bool>* stop);
/// Returns the same executor if it takes panels, else null. `executor`: may be null.
PanelExecutor* panel_executor(Executor* executor);

/// Reads all operands into panels with these tiles, in this process.
std::shared_ptr<const PanelStore> read_all_operands(const CalculationState& state, const TileSpace& tiles);
/// Reads all operands that `reader` takes, in this process. `tiles`: of the panels; nullopt: those of `reader`.
std::shared_ptr<const PanelStore> read_all_operands(const CalculationState& state, const PanelExecutor& reader,
                                                    const std::optional<TileSpace>& tiles = {});

/// Makes an executor on CPU cores for a rank whose GPUs have failed. `problem`: as of prepare_executor(). `panels`: the
/// panels that were read for the GPUs; null: reads them.
std::unique_ptr<Executor> make_executor_on_cores(const CalculationState& state, const Problem& problem,
                                                 std::shared_ptr<const PanelStore> panels);
/// Returns the number of threads of that executor.
int threads_on_cores(const CalculationState& state);

}
