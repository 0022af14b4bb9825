#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cxx/parallel/run_report.hpp"
#include "cxx/plan/plan.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

/// 128 bits that differ when the input or an option that could change a task's energies by more than rounding does.
using Fingerprint = std::array<std::uint64_t, 2>;

/// What energies in a journal belong to.
struct JournalKey {
  Fingerprint fingerprint{};
  Tiling tiles{};  ///< of the plan
  std::uint64_t tasks = 0, energies_per_task = 0;
  bool operator==(const JournalKey&) const = default;
};

/// One file with energies of finished tasks: a header and a checksummed record for each task, appended as tasks finish.
/// A record that a kill cut short fails its checksum; it and what follows are dropped.
class JournalFile {
 public:
  using Found = std::function<void(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies)>;

  /// Opens or creates a file to append to, which is then this run's alone, and tells `found` what is in it. Throws
  /// UsageError when it belongs to another calculation, is no journal, another run holds it, or it is a link to a file
  /// that is not there, and SystemError when it cannot be written.
  JournalFile(std::string path, const JournalKey& key, const Found& found);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Tells what is in a file that stays as it is. Returns whether the file could be locked meanwhile (`locked`). Throws
  /// as the constructor.
  static bool read(const std::string& path, const JournalKey& key, const Found& found);

  /// False where the file system has no locks: then nothing keeps another run from the file.
  bool locked() const { return locked_; }

  /// How the tiles of the plan were cut whose energies a file holds; none where there is nothing in it, or nothing that
  /// can be read. Throws as the constructor for a file that is no journal.
  static std::optional<Tiling> tiles_in(const std::string& path);

  /// True for a file that begins as the journals of this or another version do.
  static bool is_journal(const std::string& path);

  /// Not thread-safe. Throws SystemError naming the file, e.g. when the disk is full; the records before stay valid.
  void append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies);

 private:
  /// Only opens it.
  JournalFile(std::string path, const JournalKey& key, int flags);
  /// Throws UsageError if the path is a symbolic link.
  void refuse_link() const;
  void lock(int operation);
  /// Bytes of the file. It is a regular one.
  std::size_t size_of_file() const;
  /// False where there is none yet, else `end_` is behind it.
  bool read_header();
  void write_header();
  void read_records(std::size_t file_size, const Found& found);
  void write_all(const void* data, std::size_t size);
  [[noreturn]] void fail(const std::string& action) const;
  std::size_t record_size() const;

  std::string path_;
  JournalKey key_;
  int file_ = -1;
  bool locked_ = false;
  std::size_t end_ = 0;  ///< end of the last valid record
  double last_sync_ = 0.0;
};

}  // namespace trifuse
