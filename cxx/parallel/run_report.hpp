#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace trifuse {

/// Who computed a task: energies of one kind agree to the bit, those of two kinds up to rounding.
enum class WorkerKind : std::uint8_t { other, cpu, reference, cuda };
constexpr std::size_t worker_kinds = 4;
/// Of an executor of this name.
WorkerKind worker_kind(const std::string& executor);

/// In a team: what all ranks together had been given before this one got its last units.
struct RunProgress {
  std::size_t tasks_done, tasks;
  double operations_done, operations;  ///< as planned
};

/// What one rank did, or a process alone.
struct RankWork {
  WorkerKind kind = WorkerKind::other;  ///< as it began
  bool computed = false;                ///< false: it only waited
  bool device_failed = false;
  std::size_t tasks = 0;
  double operations = 0.0;    ///< as planned
  double seconds_busy = 0.0;  ///< on average over its workers
  double seconds_idle = 0.0;  ///< waiting for something to do, for other ranks, or for an executor on cores
};

}  // namespace trifuse
