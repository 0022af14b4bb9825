#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cxx/triples/task.hpp"

namespace trifuse {

/// 128 bits that differ when the input or an option that could change a bit of a task's energies does.
using Fingerprint = std::array<std::uint64_t, 2>;

/// Energies of finished tasks, kept in a file so that a run that was stopped or killed goes on where it was.
///
/// The file is a header and one checksummed record per task, appended as tasks finish. A record that a kill cut short
/// fails its checksum; it and what follows are dropped and computed again. The energies are stored to the bit, so a
/// continued run ends with the same bits as one that was never stopped.
class Journal {
 public:
  /// Opens or creates the file. Throws UsageError when it belongs to another calculation, is no journal, or another run
  /// holds it, and SystemError when it cannot be written.
  Journal(const std::string& path, const Fingerprint& fingerprint, std::size_t tasks, std::size_t energies_per_task);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whether the task was found finished when the journal was opened; its energies are then in `energies(task)`.
  bool finished(std::size_t task) const { return finished_[task]; }
  std::span<const TaskEnergy> energies(std::size_t task) const {
    return std::span(energies_).subspan(task * energies_per_task_, energies_per_task_);
  }
  std::size_t finished_count() const { return finished_count_; }

  /// Not thread-safe. Throws SystemError naming the file, e.g. when the disk is full; the records before stay valid.
  void append(std::size_t task, std::span<const TaskEnergy> energies);

  const std::string& path() const { return path_; }

 private:
  void write_header();
  void read_records(std::size_t file_size);
  void write_all(const void* data, std::size_t size);
  [[noreturn]] void fail(const std::string& action) const;
  std::size_t record_size() const;

  std::string path_;
  Fingerprint fingerprint_;
  std::size_t tasks_, energies_per_task_;
  int file_ = -1;
  std::vector<bool> finished_;
  std::vector<TaskEnergy> energies_;
  std::size_t finished_count_ = 0;
  std::size_t end_ = 0;  ///< end of the last valid record
  double last_sync_ = 0.0;
};

}  // namespace trifuse
