#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/parallel/journal_file.hpp"

namespace trifuse {

class Communicator;

/// Energies of finished tasks, kept so that a run that was stopped or killed goes on where it was, with any number of
/// processes.
///
/// Rank 0, or a process alone, appends to the file that was named, rank n to that name with ".rank<n>" behind it; none
/// waits for another. What all these files hold is read at the beginning, whoever wrote them: each file by one rank.
/// Energies are stored to the bit, so a continued run ends with the same bits as one that was never stopped.
class Journal {
 public:
  /// Opens what there is, and creates the file of this rank if it is one that `writes`. With a team it is collective,
  /// and all ranks find the same tasks finished, with the same energies: where several files have a task, those that
  /// the lowest rank has read. Throws as `JournalFile`.
  Journal(const std::string& path, const JournalKey& key, Communicator* communicator = nullptr, bool writes = true);

  /// True if `path` names the file that a rank above 0 writes, or would write, of the journal that is named `journal`.
  static bool is_file_of_rank(const std::string& journal, const std::string& path);

  /// How the tiles of the plan were cut to which a journal belongs; none where there is none yet. Collective with a
  /// team.
  static std::optional<Tiling> tiles_in(const std::string& path, Communicator* communicator = nullptr);

  /// Whether the task was found finished when the journal was opened; its energies are then in `energies(task)`.
  bool finished(std::size_t task) const { return finished_[task]; }
  std::span<const TaskEnergy> energies(std::size_t task) const {
    return std::span(energies_).subspan(task * key_.energies_per_task, key_.energies_per_task);
  }
  std::size_t finished_count() const { return finished_count_; }
  /// How many of them workers of each kind computed.
  const std::array<std::size_t, worker_kinds>& finished_by() const { return finished_by_; }

  /// Not thread-safe. Throws SystemError naming the file, e.g. when the disk is full; the records before stay valid.
  void append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies) {
    file_->append(task, by, energies);
  }

  /// As it was named.
  const std::string& path() const { return path_; }
  /// What the user is to be told, the same on all ranks; empty where all is well.
  const std::string& warning() const { return warning_; }

 private:
  /// Returns whether all files could be locked.
  bool read_files(const std::map<int, std::string>& files, int rank, int ranks, bool writes);
  void agree_on_finished(Communicator& communicator);
  void keep(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies);

  std::string path_, warning_;
  JournalKey key_;
  std::unique_ptr<JournalFile> file_;  ///< of this rank
  std::vector<bool> finished_;
  std::vector<WorkerKind> by_;
  std::vector<TaskEnergy> energies_;
  std::size_t finished_count_ = 0;
  std::array<std::size_t, worker_kinds> finished_by_{};
};

}  // namespace trifuse
