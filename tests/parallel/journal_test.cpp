#include "cxx/parallel/journal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/refusals.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::size_t task_count_of_run = 6, energies_per_task = 2;
const JournalKey key_of_this_run = {{0x0123456789abcdef, 42}, {{4, 16}, false}, task_count_of_run, energies_per_task};
constexpr std::size_t header_size = 72, record_size = 8 + energies_per_task * sizeof(TaskEnergy) + 8;

/// Energies in which each bit is significant.
std::vector<TaskEnergy> energies_of(std::size_t task) {
  std::vector<TaskEnergy> energies;
  for (std::size_t w = 0; w < energies_per_task; ++w) {
    const double x = 1.0 / static_cast<double>(3 + 7 * task + w);
    energies.push_back({{-x, x * x}, {1e-300 * x, -0.0}});
  }
  return energies;
}

class AJournal : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> open() const { return std::make_unique<Journal>(path, key_of_this_run); }
  /// Writes these tasks and closes the file.
  void write(const std::vector<std::size_t>& tasks) const {
    const auto journal = open();
    for (const std::size_t task : tasks) journal->append(task, WorkerKind::cpu, energies_of(task));
  }
  void expect_finished(const std::vector<std::size_t>& tasks) const {
    const auto journal = open();
    for (std::size_t task = 0; task < task_count_of_run; ++task) {
      const bool wanted = std::find(tasks.begin(), tasks.end(), task) != tasks.end();
      ASSERT_EQ(journal->finished(task), wanted) << "task " << task;
      if (!wanted) continue;
      EXPECT_EQ(numbers_of(journal->energies(task)), numbers_of(energies_of(task)));
    }
  }
  void expect_warning(const std::string& part) const {
    const std::string warning = open()->warning();
    EXPECT_NE(warning.find(part), std::string::npos) << warning;
  }
  void expect_refusal(const std::string& part) const {
    const std::string before = read_text(path);
    expect_failure<UsageError>([&] { open(); }, part);
    EXPECT_EQ(read_text(path), before) << "a file that is refused must stay as it is";
  }

  TemporaryFolder folder;
  std::string path = (folder.path() / "run.journal").string();
};

TEST_F(AJournal, IsEmptyWhenItIsNew) {
  expect_finished({});
  EXPECT_EQ(fs::file_size(path), header_size);
  expect_finished({});
}

TEST_F(AJournal, KeepsEnergiesToTheBit) {
  write({4, 0, 2});
  EXPECT_EQ(fs::file_size(path), header_size + 3 * record_size);
  expect_finished({0, 2, 4});
}

/// The bytes of a file, as hexadecimal digits.
std::string digits_of(const std::string& bytes) {
  std::string digits;
  for (const unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

TEST_F(AJournal, HasTheBytesOfItsFormat) {
  write({0});
  const std::string file = read_text(path);
  ASSERT_EQ(file.size(), header_size + record_size);
  // Magic number, energies per task, number of tasks, tiles of 4 and 16 orbitals, not aligned, fingerprint, checksum.
  EXPECT_EQ(digits_of(file.substr(0, header_size - 8)),
            "5452494655534532"
            "0200000000000000"
            "0600000000000000"
            "0400000000000000"
            "1000000000000000"
            "0000000000000000"
            "efcdab8967452301"
            "2a00000000000000");
  // Task 0 by a CPU worker; for each omega2 the IEEE 754 bits of four energies; checksum.
  EXPECT_EQ(digits_of(file.substr(header_size, record_size - 8)),
            "0000000000000001"
            "555555555555d5bf1cc7711cc771bc3fcc99f603d5928c010000000000000080"
            "000000000000d0bf000000000000b03f59f3f8c21f6e85010000000000000080");
}

TEST_F(AJournal, ThatIsOnlyReadCannotBeAppendedTo) {
  write({4});
  Journal journal(path, key_of_this_run, nullptr, false);
  EXPECT_TRUE(journal.finished(4));
  EXPECT_THROW(journal.append(1, WorkerKind::cpu, energies_of(1)), std::logic_error);
}

TEST_F(AJournal, IsContinuedByTheNextRun) {
  write({4});
  write({1, 5});
  write({});
  expect_finished({1, 4, 5});
}

TEST_F(AJournal, MayBeAnEmptyFile) {
  write_text(path, "");
  write({3});
  expect_finished({3});
}

TEST_F(AJournal, CountsATaskOnceThatWasWrittenTwice) {
  write({3, 3, 1});
  expect_finished({1, 3});
}

TEST_F(AJournal, LosesOnlyTheRecordThatAKillCutShort) {
  write({0, 1, 2});
  const std::string whole = read_text(path);
  for (std::size_t kept = 0; kept < record_size; ++kept) {
    SCOPED_TRACE(std::to_string(kept) + " bytes of the last record");
    write_text(path, whole.substr(0, header_size + 2 * record_size + kept));
    expect_finished({0, 1});
    EXPECT_EQ(fs::file_size(path), header_size + 2 * record_size);
    write({5, 2});
    expect_finished({0, 1, 2, 5});
  }
}

TEST_F(AJournal, SaysThatARecordIsDamagedAndUsesTheOthers) {
  write({0, 1, 2, 3});
  EXPECT_EQ(open()->warning(), "");
  const std::string whole = read_text(path);
  for (std::size_t byte = 0; byte < record_size; ++byte) {
    SCOPED_TRACE("byte " + std::to_string(byte) + " of the second record");
    std::string damaged = whole;
    damaged[header_size + record_size + byte] ^= 0x10;
    write_text(path, damaged);
    expect_warning("of its 4 records 1 has a wrong checksum, the first at byte 152 of " + path +
                   ". The run does not use it");
    expect_finished({0, 2, 3});
  }
  write({1});
  expect_finished({0, 1, 2, 3});
  EXPECT_EQ(read_text(path), whole) << "the new record takes the place of the damaged one";
}

TEST_F(AJournal, SaysThatItsLastRecordIsDamaged) {
  write({0, 1});
  std::string damaged = read_text(path);
  damaged.back() ^= 0x01;
  write_text(path, damaged);
  expect_warning("of its 2 records 1 has");
  expect_finished({0});
  EXPECT_EQ(open()->warning(), "") << "the first run has cut the record off";
}

TEST_F(AJournal, SaysThatACrashOfTheMachineLeftZeros) {
  write({0, 1});
  write_text(path, read_text(path) + std::string(3 * record_size, '\0'));
  expect_warning("of its 5 records 3 have a wrong checksum");
  expect_finished({0, 1});
}

TEST_F(AJournal, StartsAfreshWhenItsHeaderWasCutShort) {
  write({});
  const std::string header = read_text(path);
  for (std::size_t kept = 1; kept < header_size; ++kept) {
    write_text(path, header.substr(0, kept));
    expect_finished({});
    EXPECT_EQ(read_text(path), header);
  }
}

TEST_F(AJournal, DoesNotReplaceAnotherFile) {
  for (const std::string& text : {std::string("notes\n"), std::string(1000, 'x'), std::string(1, '\0')}) {
    write_text(path, text);
    expect_refusal("is not a Trifuse journal and will not be overwritten");
  }
}

TEST_F(AJournal, WithADamagedHeaderIsRefused) {
  write({0, 1});
  const std::string whole = read_text(path);
  for (std::size_t byte = 0; byte < header_size; ++byte) {
    std::string damaged = whole;
    damaged[byte] ^= 0x01;
    write_text(path, damaged);
    expect_refusal("is not a Trifuse journal");
  }
}

TEST_F(AJournal, OfAnotherCalculationIsRefused) {
  const auto refused = [&](auto change) {
    fs::remove(path);
    JournalKey other = key_of_this_run;
    change(other);
    { Journal(path, other); }
    expect_refusal("belongs to a calculation with other input, options or program version");
  };
  refused([](JournalKey& key) { key.fingerprint = {1, 2}; });
  refused([](JournalKey& key) { ++key.tasks; });
  refused([](JournalKey& key) { ++key.results.omega2; });
  refused([](JournalKey& key) { ++key.tiles.sizes.holes; });
  refused([](JournalKey& key) { ++key.tiles.sizes.particles; });
  refused([](JournalKey& key) { key.tiles.aligned = true; });
}

TEST_F(AJournal, OfAnOlderVersionIsRefused) {
  write_text(path, "TRIFUSE1" + std::string(40 + 72, 'x'));
  expect_refusal("was written by an older version of Trifuse");
}

TEST_F(AJournal, TellsTheTilesOfItsPlan) {
  EXPECT_FALSE(Journal::tiles_in(path));
  write_text(path, "");
  EXPECT_FALSE(Journal::tiles_in(path));
  write({});
  EXPECT_EQ(Journal::tiles_in(path), key_of_this_run.tiles);
  fs::rename(path, path + ".rank12");
  EXPECT_EQ(Journal::tiles_in(path), key_of_this_run.tiles);
  fs::rename(path + ".rank12", path + ".rank012");
  EXPECT_FALSE(Journal::tiles_in(path));
}

TEST_F(AJournal, KnowsTheKindOfWorkerOfEachTask) {
  {
    const auto journal = open();
    journal->append(0, WorkerKind::cpu, energies_of(0));
    journal->append(1, WorkerKind::cuda, energies_of(1));
    journal->append(2, WorkerKind::cuda, energies_of(2));
  }
  expect_finished({0, 1, 2});
  const auto journal = open();
  EXPECT_EQ(journal->by(0), WorkerKind::cpu);
  EXPECT_EQ(journal->by(1), WorkerKind::cuda);
  EXPECT_EQ(journal->by(2), WorkerKind::cuda);
  EXPECT_EQ(worker_kind("cuda"), WorkerKind::cuda);
  EXPECT_EQ(worker_kind("cpu"), WorkerKind::cpu);
  EXPECT_EQ(worker_kind("reference"), WorkerKind::reference);
  EXPECT_EQ(worker_kind("made-up"), WorkerKind::other);
}

TEST_F(AJournal, HasAPathWithoutNullCharacters) {
  path += std::string("\0.old", 5);
  expect_failure<UsageError>([&] { open(); }, "run.journal\\x00.old\" contains a null character");
  EXPECT_THROW(Journal::tiles_in(path), UsageError);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST_F(AJournal, BelongsToOneRunAtATime) {
  auto first = open();
  first->append(0, WorkerKind::cpu, energies_of(0));
  expect_failure<UsageError>([&] { open(); }, "is in use by another run");
  first.reset();
  expect_finished({0});
}

}
}
