#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cxx/parallel/journal.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/executor.hpp"

namespace trifuse {

struct RunProgress {
  std::size_t tasks_done, tasks;
  double operations_done, operations;  ///< as planned
};

struct RunSettings {
  int threads = 1;                                   ///< unless the executor wants another number of workers
  Journal* journal = nullptr;                        ///< may be null
  const std::atomic<bool>* stop = nullptr;           ///< set by a signal handler; may be null
  std::function<void(const RunProgress&)> progress;  ///< called by one thread at a time after each task; may be empty
};

struct RunOutcome {
  std::vector<TaskEnergy> energies;  ///< [omega2, task], omega2 fastest
  double operations = 0.0;           ///< floating-point operations of the products executed now
  std::size_t from_journal = 0;      ///< tasks that did not have to be executed
};

/// Executes all tasks of a plan on the threads of this process, in the batches and the order that the executor wants.
/// Each task's energies are kept apart, so their sum does not depend on who did what and when. Tasks reach the journal
/// and the progress one by one when their batch has ended. Throws what a worker threw first, Interrupted when asked to
/// stop, and Error when a task's energy is not a finite number.
RunOutcome run_tasks(const Plan& plan, const Executor& executor, std::size_t energies_per_task,
                     const RunSettings& settings);

}  // namespace trifuse
