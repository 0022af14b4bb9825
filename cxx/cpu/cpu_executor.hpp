#pragma once

#include <cstdint>
#include <memory>

#include "cxx/operands/panel_executor.hpp"
#include "cxx/plan/executor.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Largest tiles that the CPU executor works on at once: a target of 4^3 16^3 elements is 2 MiB and stays in the cache,
/// while the matrix products, 256 by 1024, are large enough for BLAS. Larger tiles of a task are cut.
struct CpuTiles {
  std::int64_t holes = 4;
  std::int64_t particles = 16;
};

/// How panels for such executors are cut.
TileSpace cpu_panel_tiles(const TileSpace& tiles, CpuTiles limits = {});

/// Matrix products by BLAS, one task per thread. Operands are read from the sources once, here.
std::unique_ptr<Executor> make_cpu_executor(const Problem& problem, const TileSpace& tiles, CpuTiles limits = {});

/// The same without operands, for those who share them with others; it also takes panels that were cut for others, if
/// their tiles are those of the plan or finer. With `threads_per_worker` it has one worker, whose threads share the
/// pieces of its tasks: where a task is much for one thread, as those of GPUs are. The bits of a task do not depend on
/// their number.
std::unique_ptr<PanelExecutor> prepare_cpu_executor(const Problem& problem, const TileSpace& tiles,
                                                    CpuTiles limits = {}, int threads_per_worker = 1);

/// Memory in bytes: operands, shared by all workers, and of each worker its scratch and what it has of the operands in
/// use at once.
struct CpuMemory {
  std::int64_t operands;
  std::int64_t per_worker;
  std::int64_t in_use;
};
CpuMemory cpu_executor_memory(const Problem& problem, const TileSpace& tiles, CpuTiles limits = {});

/// The same with panels that are cut like this, and not as the executor would cut them.
CpuMemory cpu_memory_with_panels_of(const Problem& problem, const TileSpace& panel_tiles, CpuTiles limits = {});

}  // namespace trifuse
