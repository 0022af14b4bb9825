#include "cxx/parallel/stored_sums.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Runs with a journal and with arrays to which the tasks add.
namespace trifuse::testing {
namespace {

class SumsBesideAJournal : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);
  ResultShape shape{1, {{"small", 3, 0.5}, {"large", 1000}}};
  JournalKey key{{1, 2}, {{2, 2}, false}, plan.tasks.size(), 1};
  TemporaryFolder folder;
  std::string path = (folder.path() / "journal").string(), sums_path = path + ".sums";
  std::atomic<std::size_t> calls{0};
  bool keeps_sums = false;  ///< see MadeUpExecutor::keep_sums()

  /// Returns the executor of a rank for one run.
  std::unique_ptr<MadeUpExecutor> make_executor() {
    auto executor = std::make_unique<MadeUpExecutor>([this](const Task& task) {
      ++calls;
      return TaskEnergy{{1.0 * task.particles[0], 2.0}, {3.0, 1.0 / (1 + task.holes[0])}};
    });
    if (keeps_sums) executor->keep_sums(MadeUpExecutor::FirstArray::stays);  // they move, because they are stored
    return executor;
  }

  /// Runs on some ranks until `tasks` more tasks are done, and ends as a killed run does: without storing its
  /// sums at the end. `pause`: seconds between two times at which a rank stores its sums.
  void kill_after(std::size_t tasks, int ranks, double pause = 0.0) {
    std::atomic<std::size_t> done{0};
    run(ranks, [&](RunSettings& settings, Communicator*) {
      settings.progress = [&](const RunProgress&) {
        if (++done > tasks) throw std::runtime_error("killed");
      };
      settings.seconds_between_sums = pause;
    });
  }
  std::vector<std::string> run(int ranks, const std::function<void(RunSettings&, Communicator*)>& change,
                               const std::function<void(const RunOutcome&)>& then = {}) {
    return failures_of_ranks(ranks, [&](Communicator& communicator) {
      Communicator* const several = ranks > 1 ? &communicator : nullptr;
      Journal journal(path, key, several);
      RunSettings settings{.threads = 2, .journal = &journal, .communicator = several};
      change(settings, several);
      const RunOutcome outcome = run_tasks(plan, *make_executor(), shape, settings);
      if (then) then(outcome);
    });
  }
  /// Runs to the end. Returns the number of tasks from the journal.
  std::size_t expect_same_bits(int ranks) {
    std::size_t from_journal = 0;
    std::mutex mutex;
    const auto failures = run(
        ranks, [](RunSettings&, Communicator*) {},
        [&](const RunOutcome& outcome) {
          const std::lock_guard lock(mutex);
          from_journal = outcome.from_journal;
          ASSERT_EQ(outcome.sums.size(), 2u);
          EXPECT_EQ(outcome.sums[0], MadeUpExecutor::sum_of(plan, 3));
          EXPECT_EQ(outcome.sums[1], MadeUpExecutor::sum_of(plan, 1000));
          EXPECT_EQ(trifuse::testing::numbers_of(outcome.energies),
                    trifuse::testing::numbers_of(run_tasks(plan, *make_executor(), 1, {}).energies));
        });
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    return from_journal;
  }
  void expect_refusal(const std::string& sentence, int ranks = 1) {
    for (const std::string& failure : run(ranks, [](RunSettings&, Communicator*) {}))
      EXPECT_NE(failure.find(sentence), std::string::npos) << failure;
  }
  void expect_same_bits_after_kills() {
    const std::size_t part = plan.tasks.size() / 6;
    ASSERT_GE(part, 10u);
    for (const std::vector<int>& ranks : {std::vector{1, 1}, {2, 2}, {2, 1}, {1, 2}, {3, 1, 2, 3}}) {
      SCOPED_TRACE(::testing::PrintToString(ranks));
      for (std::size_t n = 0; n + 1 < ranks.size(); ++n) kill_after(part, ranks[n]);
      EXPECT_GE(expect_same_bits(ranks.back()), part / 2);
      calls = 0;
      EXPECT_EQ(expect_same_bits(2), plan.tasks.size()) << "a finished run has stored all sums";
      for (const auto& file : fs::directory_iterator(folder.path())) fs::remove(file.path());
    }
  }
};

TEST_F(SumsBesideAJournal, ResumeToTheSameBitsOnAnyNumberOfRanks) {
  expect_same_bits_after_kills();
}

TEST_F(SumsBesideAJournal, ResumeToTheSameBitsIfTheExecutorKeepsItsSums) {
  keeps_sums = true;
  expect_same_bits_after_kills();
}

TEST_F(SumsBesideAJournal, AreComputedAgainIfOnlyTheirEnergiesWereStored) {
  kill_after(20, 1, 1e9);
  ASSERT_FALSE(fs::exists(sums_path));
  EXPECT_EQ(expect_same_bits(1), 0u);
}

TEST_F(SumsBesideAJournal, AreStoredByARunThatIsStopped) {
  std::atomic<bool> stop{false};
  const auto failures = run(1, [&](RunSettings& settings, Communicator*) {
    settings.stop = &stop;
    settings.progress = [&](const RunProgress& now) { stop = now.tasks_done >= 20; };
  });
  EXPECT_NE(failures.front().find("resumes from the journal"), std::string::npos) << failures.front();
  EXPECT_GE(expect_same_bits(1), 20u);
}

TEST_F(SumsBesideAJournal, AreRefusedIfTheyAreDamaged) {
  kill_after(20, 1);
  const std::string whole = read_text(sums_path);
  for (const std::size_t byte : {whole.size() / 2, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 4);
    write_text(sums_path, damaged);
    expect_refusal("is damaged; delete it and the journal to start again");
    expect_refusal("is damaged; delete it and the journal to start again", 2);
  }
  write_text(sums_path, whole.substr(0, whole.size() - 3));
  expect_refusal("is cut short");
  write_text(sums_path, whole);
  EXPECT_GE(expect_same_bits(1), 10u);  // batches that were under way are not stored
}

TEST_F(SumsBesideAJournal, AreRefusedIfTheyBelongToOtherInputOrArrays) {
  kill_after(20, 1);
  const std::string other = "belongs to a calculation with other input, options";
  shape.sums[1].name = "other";
  expect_refusal(other);
  shape.sums[1].name = "large";
  shape.sums[1].size = 999;
  expect_refusal(other);
  shape.sums[1].size = 1000;
  key.fingerprint = {1, 3};
  fs::remove(path);
  expect_refusal(other);
  key.fingerprint = {1, 2};
  fs::remove(path);
  expect_refusal("contain tasks that the journal has lost");
}

TEST_F(SumsBesideAJournal, AreRefusedIfTwoFilesContainATask) {
  kill_after(20, 1);
  fs::copy_file(sums_path, path + ".rank1.sums");
  expect_refusal("belong to different runs");
  expect_refusal("belong to different runs", 2);
}

TEST_F(SumsBesideAJournal, AreRefusedWithoutWaitingIfTheyArePipes) {
  for (const std::string& pipe : {sums_path, path + ".rank1.sums"}) {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    expect_refusal("not a regular file");
    expect_refusal("not a regular file", 2);
    fs::remove(pipe);
  }
}

TEST_F(SumsBesideAJournal, AreRefusedBeforeTheWorkIfTheyCannotBeStored) {
  fs::create_directory(sums_path);
  expect_refusal("not a regular file");
  EXPECT_EQ(calls, 0u);
}

TEST_F(SumsBesideAJournal, MayFailToBeStoredAfterTheLastTask) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    const auto failures = run(
        ranks,
        [&](RunSettings& settings, Communicator*) {
          settings.progress = [&](const RunProgress&) { fs::create_directory(sums_path); };
        },
        [&](const RunOutcome& outcome) {
          EXPECT_EQ(outcome.sums[0], MadeUpExecutor::sum_of(plan, 3));
          ASSERT_EQ(outcome.warnings.size(), 1u);
          EXPECT_NE(outcome.warnings[0].find("not stored beside the journal: " + sums_path), std::string::npos)
              << outcome.warnings[0];
        });
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    for (const auto& file : fs::directory_iterator(folder.path())) fs::remove_all(file.path());
  }
}

TEST_F(SumsBesideAJournal, AreProtectedAsTheJournalIs) {
  kill_after(20, 2);
  EXPECT_TRUE(JournalFile::is_journal(sums_path));
  EXPECT_TRUE(Journal::is_file_of_rank(path, sums_path));
  EXPECT_TRUE(Journal::is_file_of_rank(path, path + ".rank1.sums"));
  EXPECT_FALSE(Journal::is_file_of_rank(path, path + ".rank1.other"));
  const std::string whole = read_text(sums_path);
  expect_failure<UsageError>([&] { Journal(sums_path, key); }, "is not a Trifuse journal");
  EXPECT_EQ(read_text(sums_path), whole);
}

}
}
