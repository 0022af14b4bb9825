#pragma once

#include <cstdint>
#include <memory>

#include "cxx/operands/panel_executor.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/problem.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Sizes of the largest tiles of a subtask of the CPU executor, in orbitals. A target of 4^3 16^3 elements takes 2 MiB
/// and stays in the cache. Rows of 16 particles are full vectors. A task of larger tiles is divided into subtasks.
struct CpuTiles {
  std::int64_t holes = 4;
  std::int64_t particles = 16;
};

/// Returns the tiles of panels for CPU executors: `tiles`, divided further if they are larger than `limits`.
TileSpace cpu_panel_tiles(const TileSpace& tiles, CpuTiles limits = {});

/// Makes an executor that computes on CPU cores, one task per thread. `tiles`: tile space of the tasks. This function
/// reads all operands from the sources of `problem` and throws what they throw.
std::unique_ptr<Executor> make_cpu_executor(const Problem& problem, const TileSpace& tiles, CpuTiles limits = {});

/// Makes the same executor without operands. It gets them by `take_panels`. They may have been made for another
/// executor. Each tile of these panels must be a tile of the tasks or a part of one.
///
/// `threads_per_worker`: with 1, there may be any number of workers, each with one thread. With more, there must be a
/// single worker, whose threads share the subtasks of its tasks. This suits tasks that are too large for one thread,
/// e.g. tasks tiled for GPUs. The bits of a task's energies do not depend on this number.
///
/// `precision`: `mixed` emulates the products of GPU kernels in mixed precision. This is slow and meant for tests.
std::unique_ptr<PanelExecutor> prepare_cpu_executor(const Problem& problem, const TileSpace& tiles,
                                                    CpuTiles limits = {}, int threads_per_worker = 1,
                                                    Precision precision = Precision::fp64);

/// Memory of a CPU executor, bytes.
struct CpuMemory {
  std::int64_t operands;    ///< all operands; workers share them
  std::int64_t per_worker;  ///< scratch of one worker
  std::int64_t in_use;      ///< operands that one worker uses at once
  std::int64_t made;        ///< all panels made from factors; they need not be in memory
};
/// Returns the memory that an executor of `make_cpu_executor` would need. Reads no operands.
CpuMemory cpu_executor_memory(const Problem& problem, const TileSpace& tiles, CpuTiles limits = {});

/// Returns the memory that an executor needs if it takes panels of these tiles instead of panels of its own tiles.
CpuMemory cpu_memory_with_panels_of(const Problem& problem, const TileSpace& panel_tiles, CpuTiles limits = {});

}

#pragma GCC visibility pop
