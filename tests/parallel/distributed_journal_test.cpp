#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/parallel/finished_tasks.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// The journal of several ranks.
namespace trifuse::testing {
namespace {

constexpr std::size_t task_count = 12, energies_per_task = 2;
const JournalKey key = {{3, 4}, {{4, 16}, false}, task_count, energies_per_task};

/// Energies in which each bit is significant. Different ranks use different values of `version`.
std::vector<TaskEnergy> energies_of(std::size_t task, int version = 0) {
  const double x = 1.0 / static_cast<double>(3 + 7 * task) + 1e-9 * version;
  return {{{-x, x * x}, {1e-300 * x, 3.0 * x}}, {{x, x / 3.0}, {-x / 7.0, 1.0}}};
}

class JournalOfRanks : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = (folder.path() / "run.journal").string();

  /// Opens the journal on each of `ranks` ranks and calls `then`. Returns the message of each rank; empty: no
  /// exception.
  std::vector<std::string> open(
      int ranks, const std::function<void(Journal&, Communicator&)>& then,
      const std::function<bool(int)>& writes = [](int) { return true; }) {
    return failures_of_ranks(ranks, [&](Communicator& communicator) {
      Journal journal(path, key, &communicator, writes(communicator.rank()));
      then(journal, communicator);
    });
  }
  void expect_no_failures(const std::vector<std::string>& failures) {
    EXPECT_EQ(failures, std::vector<std::string>(failures.size()));
  }
  /// Expects that any number of ranks finds exactly these tasks in the journal.
  void expect_finished(const std::vector<std::size_t>& tasks) {
    std::vector<std::vector<double>> wanted(task_count);
    for (const std::size_t task : tasks) wanted[task] = numbers_of(energies_of(task));
    const auto check = [&](const Journal& journal) {
      for (std::size_t task = 0; task < task_count; ++task) {
        ASSERT_EQ(journal.finished(task), !wanted[task].empty()) << "task " << task;
        if (journal.finished(task)) {
          EXPECT_EQ(numbers_of(journal.energies(task)), wanted[task]);
        }
      }
    };
    for (const int ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      expect_no_failures(open(ranks, [&](Journal& journal, Communicator&) { check(journal); }));
    }
    check(Journal(path, key));
  }
  void write(int ranks, const std::function<std::vector<std::size_t>(int)>& tasks) {
    expect_no_failures(open(ranks, [&](Journal& journal, Communicator& communicator) {
      for (const std::size_t task : tasks(communicator.rank()))
        journal.append(task, WorkerKind::cpu, energies_of(task));
    }));
  }
};

TEST_F(JournalOfRanks, IsReadByAnyNumberOfRanks) {
  write(3, [](int rank) {
    return std::vector<std::size_t>{static_cast<std::size_t>(rank), 5u + static_cast<std::size_t>(rank)};
  });
  EXPECT_EQ(fs::file_size(path), fs::file_size(path + ".rank1"));
  EXPECT_EQ(fs::file_size(path), fs::file_size(path + ".rank2"));
  expect_finished({0, 1, 2, 5, 6, 7});
  write(2, [](int rank) { return std::vector<std::size_t>{8u + static_cast<std::size_t>(rank)}; });
  expect_finished({0, 1, 2, 5, 6, 7, 8, 9});
}

TEST_F(JournalOfRanks, OfMoreThanAHundredRanksIsRead) {
  write(120, [](int rank) {
    return rank >= 100 && rank < 107 ? std::vector<std::size_t>{static_cast<std::size_t>(rank - 100)}
                                     : std::vector<std::size_t>{};
  });
  expect_finished({0, 1, 2, 3, 4, 5, 6});
  expect_no_failures(
      open(120, [](Journal& journal, Communicator&) { EXPECT_EQ(finished_tasks(journal, task_count), 7u); }));
}

TEST_F(JournalOfRanks, IsTheSameOnAllRanksIfTwoFilesHaveOneTask) {
  expect_no_failures(open(3, [](Journal& journal, Communicator& communicator) {
    if (communicator.rank() > 0) journal.append(4, WorkerKind::cuda, energies_of(4, communicator.rank()));
  }));
  for (const int ranks : {2, 3, 7}) {
    expect_no_failures(open(ranks, [&](Journal& journal, Communicator&) {
      EXPECT_EQ(numbers_of(journal.energies(4)), numbers_of(energies_of(4, ranks == 2 ? 2 : 1)));
      EXPECT_EQ(finished_tasks(journal, task_count), 1u);
      EXPECT_EQ(journal.by(4), WorkerKind::cuda);
    }));
  }
}

TEST_F(JournalOfRanks, DropsTheCutRecordOfEachFile) {
  write(3, [](int rank) {
    return std::vector<std::size_t>{static_cast<std::size_t>(rank), 5u + static_cast<std::size_t>(rank)};
  });
  const std::string whole = read_text(path + ".rank2");
  for (std::size_t kept = 0; kept < whole.size(); kept += 3) {
    SCOPED_TRACE(std::to_string(kept) + " bytes");
    write_text(path + ".rank2", whole.substr(0, kept));
    // A run without that rank reads the file, but does not repair it.
    const std::size_t record = 8 + energies_per_task * sizeof(TaskEnergy) + 8,
                      records = kept < 72 ? 0 : (kept - 72) / record;
    EXPECT_EQ(finished_tasks(Journal(path, key), task_count), 4 + records);
    EXPECT_EQ(read_text(path + ".rank2"), whole.substr(0, kept));
  }
  write_text(path + ".rank2", whole.substr(0, whole.size() - 1));
  expect_finished({0, 1, 2, 5, 6});
}

TEST_F(JournalOfRanks, SaysOnAllRanksThatAFileIsDamaged) {
  write(3, [](int rank) {
    return std::vector<std::size_t>{static_cast<std::size_t>(rank), 5u + static_cast<std::size_t>(rank)};
  });
  std::string damaged = read_text(path + ".rank1");
  damaged[80] ^= 0x04;
  write_text(path + ".rank1", damaged);
  for (const int ranks : {1, 2, 3, 5}) {
    expect_no_failures(open(ranks, [&](Journal& journal, Communicator&) {
      const std::string part = "of its 6 records 1 has a wrong checksum, the first at byte 72 of " + path;
      EXPECT_NE(journal.warning().find(part + ".rank1."), std::string::npos) << journal.warning();
    }));
  }
  expect_finished({0, 2, 5, 6, 7});
}

TEST_F(JournalOfRanks, IsNotWrittenByRanksThatWait) {
  const auto even = [](int rank) { return rank % 2 == 0; };
  expect_no_failures(open(
      4, [](Journal&, Communicator&) {}, even));
  EXPECT_FALSE(fs::exists(path + ".rank1"));
  EXPECT_TRUE(fs::exists(path + ".rank2"));
  write(4, [](int rank) { return std::vector<std::size_t>{static_cast<std::size_t>(rank)}; });
  expect_no_failures(open(
      4, [](Journal& journal, Communicator&) { EXPECT_EQ(finished_tasks(journal, task_count), 4u); }, even));
}

TEST_F(JournalOfRanks, OfAnotherCalculationIsRefusedByAll) {
  JournalKey other = key;
  other.fingerprint = {5, 6};
  for (const std::string& name : {path, path + ".rank1", path + ".rank9"}) {
    {
      JournalFile(name, other, [](std::size_t, WorkerKind, std::span<const TaskEnergy>) {});
    }
    for (const std::string& failure : open(3, [](Journal&, Communicator&) {})) {
      EXPECT_NE(failure.find(name + " belongs to a calculation with other input"), std::string::npos) << failure;
    }
    if (name == path) {
      EXPECT_FALSE(fs::exists(path + ".rank1")) << "a refused journal must not grow";
    }
    fs::remove(name);
  }
}

TEST_F(JournalOfRanks, BelongsToOneRunAtATime) {
  for (const std::string& name : {path, path + ".rank1", path + ".rank9"}) {
    const JournalFile held(name, key, [](std::size_t, WorkerKind, std::span<const TaskEnergy>) {});
    for (const std::string& failure : open(2, [](Journal&, Communicator&) {})) {
      EXPECT_NE(failure.find(name + " is in use by another run"), std::string::npos) << failure;
    }
    expect_failure<UsageError>([&] { Journal(path, key); }, name + " is in use by another run");
  }
}

TEST_F(JournalOfRanks, TellsTheTilesOfItsPlanToAllRanks) {
  const auto check = [&](bool there) {
    expect_no_failures(failures_of_ranks(3, [&](Communicator& communicator) {
      EXPECT_EQ(Journal::tiles_in(path, &communicator), there ? std::optional(key.tiles) : std::nullopt);
    }));
  };
  check(false);
  write(2, [](int) { return std::vector<std::size_t>{}; });
  fs::remove(path);
  check(true);
}

class RanksWithJournal : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);
  JournalKey key_of_plan = {{1, 2}, {{2, 2}, false}, plan.tasks.size(), 1};
  TemporaryFolder folder;
  std::string path = (folder.path() / "journal").string();
  std::atomic<std::size_t> executed{0};
  MadeUpExecutor executor{[this](const Task& task) {
    ++executed;
    const double x = task.particles[0] + 10 * task.particles[1] + 100 * task.particles[2] + 1000 * task.holes[0];
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return TaskEnergy{{1.0 / x, 2.0 / x}, {3.0 / x, 4.0 / x}};
  }};

  RunOutcome run(Communicator* communicator, const std::atomic<bool>& stop,
                 std::function<void(const RunProgress&)> progress) {
    Journal journal(path, key_of_plan, communicator);
    RunSettings settings;
    settings.communicator = communicator;
    settings.journal = &journal;
    settings.stop = &stop;
    settings.progress = std::move(progress);
    return run_tasks(plan, executor, 1, settings);
  }
};

TEST_F(RanksWithJournal, ResumesWithAnyNumberOfRanksToTheSameBits) {
  const std::vector<double> expected = numbers_of(run_tasks(plan, executor, 1, {}).energies);
  executed = 0;
  std::size_t ends = 0;
  for (int attempt = 0; ends == 0; ++attempt) {
    ASSERT_LT(attempt, 20);
    const int ranks = 1 + attempt % 3;
    const std::size_t before = executed;
    std::atomic<bool> stop{false};
    const auto failures = failures_of_ranks(ranks, [&](Communicator& communicator) {
      const RunOutcome outcome = run(ranks > 1 ? &communicator : nullptr, stop, [&](const RunProgress& now) {
        EXPECT_GE(now.tasks_done, before);
        if (executed - before > plan.tasks.size() / 5) stop = true;
      });
      EXPECT_EQ(numbers_of(outcome.energies), expected);
      EXPECT_EQ(outcome.from_journal, before);
    });
    if (failures[0].empty()) {
      ++ends;
      continue;
    }
    for (const std::string& failure : failures) {
      EXPECT_NE(failure.find("the same command resumes from the journal " + path), std::string::npos) << failure;
    }
  }
  // No task was in progress when a run stopped, so no task is repeated.
  EXPECT_EQ(executed, plan.tasks.size());
}

TEST_F(RanksWithJournal, ExecutesNothingWhenTheJournalHasEverything) {
  const std::atomic<bool> stop{false};
  const auto once = [&](int ranks) {
    const auto failures = failures_of_ranks(ranks, [&](Communicator& communicator) { run(&communicator, stop, {}); });
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
  };
  once(3);
  EXPECT_EQ(executed, plan.tasks.size());
  once(2);
  EXPECT_EQ(run(nullptr, stop, {}).from_journal, plan.tasks.size());
  EXPECT_EQ(executed, plan.tasks.size());
}

TEST_F(RanksWithJournal, EndsSoonAfterARankHasFailed) {
  const MadeUpExecutor slow([](const Task&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return TaskEnergy{{1.0, 2.0}, {3.0, 4.0}};
  });
  const auto start = std::chrono::steady_clock::now();
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const MadeUpExecutor broken([](const Task&) -> TaskEnergy { throw SystemError("There is no space."); });
    RunSettings settings;
    settings.communicator = &communicator;
    run_tasks(plan, communicator.rank() == 0 ? slow : broken, 1, settings);
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 1 failed: There is no space.", "There is no space."}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}
}
