#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)

namespace trifuse {

/// The kind of worker that computed a task. Workers of the same kind give the same bits. Workers of different kinds
/// give the same energies up to the rounding of their precision. Journals contain these numbers.
enum class WorkerKind : std::uint8_t { other, cpu, reference, cuda, mixed_cpu, mixed_cuda };
constexpr std::size_t worker_kinds = 6;
/// Returns the kind of worker of an executor. `executor`: its name; other names than "cpu", "reference", "cuda",
/// "mixed-cpu", "mixed-cuda" give `other`.
WorkerKind worker_kind(const std::string& executor);
/// Returns true if workers of this kind compute in mixed precision.
constexpr bool is_mixed(WorkerKind kind) {
  return kind == WorkerKind::mixed_cpu || kind == WorkerKind::mixed_cuda;
}
/// Returns true if workers of this kind compute on GPUs.
constexpr bool is_cuda(WorkerKind kind) {
  return kind == WorkerKind::cuda || kind == WorkerKind::mixed_cuda;
}

/// Progress of a run. With several ranks, `tasks_done` and `operations_done` count the tasks that had been assigned to
/// all ranks together when this rank last asked.
struct RunProgress {
  std::size_t tasks_done, tasks;
  double operations_done, operations;  ///< floating-point operations, as planned
};

/// Work of one rank, or of a single process.
struct RankWork {
  WorkerKind kind = WorkerKind::other;  ///< kind at the start of the run
  bool computed = false;                ///< false: the rank was idle
  bool device_failed = false;           ///< true if a GPU of the rank failed or could not be used
  std::size_t tasks = 0;                ///< tasks that the rank executed
  double operations = 0.0;              ///< floating-point operations of these tasks, as planned
  double seconds_busy = 0.0;            ///< busy time, average over its workers
  double seconds_idle = 0.0;            ///< time of waiting for tasks, for other ranks, or for an executor on cores
};

}

#pragma GCC visibility pop
