#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cxx/parallel/run_report.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/triples/task.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// A 128-bit hash of the input and of all options that could change a task's energies by more than rounding.
using Fingerprint = std::array<std::uint64_t, 2>;

/// Identifies the calculation to which the energies in a journal belong.
struct JournalKey {
  Fingerprint fingerprint{};
  Tiling tiles{};           ///< tiling of the plan
  std::uint64_t tasks = 0;  ///< number of tasks of the plan
  ResultShape results = 0;  ///< what a task returns; a journal stores only energies
  bool operator==(const JournalKey&) const = default;
};

/// What Trifuse has learnt from reading a file.
struct JournalFileState {
  bool locked = false;            ///< false if the file system has no locks; other runs may then use the file, too
  std::size_t records = 0;        ///< number of whole records, damaged ones included
  std::size_t damaged = 0;        ///< number of records whose checksum is wrong
  std::size_t first_damaged = 0;  ///< byte of the file where the first damaged record begins; 0 if there is none
};

/// One file with energies of finished tasks: a header, then one record with a checksum for each task. Records are
/// appended when tasks finish. If a kill cuts the last record short, it is dropped. A whole record with a wrong
/// checksum is damaged: it is counted in the state of the file and not used, and the next record that is appended
/// replaces it. The records behind it are used.
class JournalFile {
 public:
  /// Receives one record of a file. `task`: number of the task in the plan. `by`: the kind of worker that computed it.
  /// `energies`: energies[omega2], hartree.
  using Found = std::function<void(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies)>;

  /// Opens or creates a file for appending, locks it for this run, and calls `found` with each of its records. Throws
  /// UsageError if the file belongs to another calculation, is not a regular file or not a journal, is in use by
  /// another run, or is a symbolic link to a file that does not exist, or if the path contains a null character. Throws
  /// SystemError if the file cannot be opened, locked, read or written.
  ///
  /// `path`: name of the file. `key`: the calculation of this run.
  JournalFile(std::string path, const JournalKey& key, const Found& found);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Calls `found` with each record of a file and does not change the file. Returns the state of the file during the
  /// reading. Throws as the constructor.
  static JournalFileState read(const std::string& path, const JournalKey& key, const Found& found);

  /// Returns the state of the file when it was opened.
  const JournalFileState& state() const { return state_; }

  /// Returns the tiling of the plan whose energies a file holds; nullopt if the file cannot be read, is empty, or ends
  /// inside its header. Throws UsageError if the file is not a journal of this version.
  static std::optional<Tiling> tiles_in(const std::string& path);

  /// Returns true if a file begins like a journal of this or of another version.
  static bool is_journal(const std::string& path);

  /// Appends one record. One thread at a time may call it. Throws SystemError with the name of the file if writing
  /// fails, e.g. because the disk is full. Earlier records stay valid.
  ///
  /// `task`: number of the task in the plan. `by`: the kind of worker that computed it. `energies`: energies[omega2],
  /// hartree.
  void append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies);
  /// Returns when all records are on the disk. Throws as append().
  void synchronise();

 private:
  /// Opens the file and does nothing else. `flags`: flags of open(2).
  JournalFile(std::string path, const JournalKey& key, int flags);
  /// Throws UsageError if the path is a symbolic link.
  void refuse_link() const;
  /// Locks the file. `operation`: LOCK_SH or LOCK_EX of flock(2). Throws UsageError if another run holds the file.
  void lock(int operation);
  /// Returns the size of the file in bytes. Throws UsageError if it is not a regular file.
  std::size_t size_of_file() const;
  /// Reads and checks the header. Returns false if the file has no complete header yet. Otherwise sets `end_` to the
  /// end of the header. Throws UsageError if the file is not a journal of this version or belongs to another
  /// calculation.
  bool read_header();
  void write_header();
  /// Calls `found` with each valid record, counts the others, and moves `end_` behind the last valid one.
  void read_records(std::size_t file_size, const Found& found);
  /// Writes `data` from byte `to` of the file on, and moves `end_` behind it if it was before.
  void write_all(std::string_view data, std::size_t to);
  /// Throws SystemError with the name of the file and the reason in errno. `action`: "opened", "written", ...
  [[noreturn]] void fail(const std::string& action) const;
  /// Returns the checksum that follows the fields of a record.
  std::uint64_t checksum_of_fields(std::string_view fields) const;
  /// Returns the size of a record in bytes.
  std::size_t record_size() const;

  std::string path_;
  JournalKey key_;
  int file_ = -1;
  JournalFileState state_;
  std::size_t end_ = 0;             ///< end of the last valid record
  std::vector<std::size_t> holes_;  ///< begins of damaged records; the next records replace these
  double last_sync_ = 0.0;
};

}

#pragma GCC visibility pop
