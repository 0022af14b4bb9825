#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/team.hpp"
#include "cxx/parallel/units.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/executor.hpp"

namespace trifuse {

/// In a team: what all ranks together had been given before this one got its last unit.
struct RunProgress {
  std::size_t tasks_done, tasks;
  double operations_done, operations;  ///< as planned
};

struct RunSettings {
  int threads = 1;                                   ///< unless the executor wants another number of workers
  Journal* journal = nullptr;                        ///< may be null
  const std::atomic<bool>* stop = nullptr;           ///< set by a signal handler; may be null
  std::function<void(const RunProgress&)> progress;  ///< called by one thread at a time after each task; may be empty
  Team* team = nullptr;                              ///< null: this process alone. With a team there is no journal
  TeamShare share = {};                              ///< of this rank in the team
};

struct RunOutcome {
  std::vector<TaskEnergy> energies;  ///< [omega2, task], omega2 fastest
  double operations = 0.0;           ///< floating-point operations of the products executed now, by all ranks
  std::size_t from_journal = 0;      ///< tasks that did not have to be executed
};

/// Executes all tasks of a plan on the threads of this process, in the batches and the order that the executor wants.
/// Each task's energies are kept apart, so their sum does not depend on who did what and when. Tasks reach the journal
/// and the progress one by one when their batch has ended. Throws what a worker threw first, Interrupted when asked to
/// stop, and Error when a task's energy is not a finite number.
///
/// With a team the same call is made on all ranks with the same plan, and all get the same outcome: each task is
/// executed by one of them, and its energies are added to zeros of the others, so how many ranks there are does not
/// change a bit. Where one rank fails all of them throw. `executor` may be null for a rank that only waits.
RunOutcome run_tasks(const Plan& plan, const Executor* executor, std::size_t energies_per_task,
                     const RunSettings& settings);
inline RunOutcome run_tasks(const Plan& plan, const Executor& executor, std::size_t energies_per_task,
                            const RunSettings& settings) {
  return run_tasks(plan, &executor, energies_per_task, settings);
}

/// Throws UsageError where a team is asked to keep a journal.
void refuse_journal_in_team(bool asked_for);

}  // namespace trifuse
