#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/parallel/journal.hpp"
#include "tests/parallel/finished_tasks.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/unprivileged.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// Paths where no journal can be written, and disks that are too small for a journal.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::size_t task_count = 1000;
const std::vector<TaskEnergy> energies = {{{1.0, 2.0}, {3.0, 4.0}}};

Journal open_journal(const std::string& path) {
  return Journal(path, {{1, 2}, {{4, 16}, false}, task_count, energies.size()});
}

class AJournalCannotBe : public ::testing::Test {
 protected:
  TemporaryFolder folder;
};

TEST_F(AJournalCannotBe, InAnAbsentFolder) {
  const std::string path = (folder.path() / "absent" / "journal").string();
  expect_failure<SystemError>([&] { open_journal(path); }, path);
}

TEST_F(AJournalCannotBe, AFolder) {
  expect_failure<SystemError>([&] { open_journal(folder.path().string()); }, "Is a directory");
}

TEST_F(AJournalCannotBe, ADeviceOrAPipe) {
  expect_failure<UsageError>([&] { open_journal("/dev/full"); }, "is not a regular file");
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_failure<UsageError>([&] { open_journal(pipe); }, "is not a regular file");
}

TEST_F(AJournalCannotBe, WhereTheUserMayNotWrite) {
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  const std::string path = (folder.path() / "journal").string();
  {
    const Unprivileged nobody;
    expect_failure<SystemError>([&] { open_journal(path); }, path + " cannot be opened: Permission denied");
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
}

/// Limits the size of files of this process, as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

class AJournalOnAFullDisk : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = (folder.path() / "journal").string();
};

TEST_F(AJournalOnAFullDisk, FailsAtOnceWhenItsHeaderDoesNotFit) {
  for (const rlim_t bytes : {0, 1, 71}) {
    const FileSizeLimit limit(bytes);
    expect_failure<SystemError>([&] { open_journal(path); }, path + " cannot be written");
  }
  EXPECT_EQ(finished_tasks(open_journal(path), task_count), 0u) << "the beginning of a header is no obstacle";
}

TEST_F(AJournalOnAFullDisk, KeepsTheRecordsBeforeTheOneThatDidNotFit) {
  constexpr std::size_t header = 72, record = 48, whole = 5;
  for (const std::size_t rest : {0, 1, 8, 47}) {
    fs::remove(path);
    std::size_t written = 0;
    {
      const FileSizeLimit limit(header + whole * record + rest);
      Journal journal = open_journal(path);
      expect_failure<SystemError>(
          [&] {
            for (; written < task_count; ++written) journal.append(written, WorkerKind::cpu, energies);
          },
          path + " cannot be written");
    }
    EXPECT_EQ(written, whole);
    Journal journal = open_journal(path);
    EXPECT_EQ(finished_tasks(journal, task_count), whole);
    journal.append(written, WorkerKind::cpu, energies);
  }
}

}
}
