#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cxx/parallel/journal_file.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

class Communicator;

/// The checkpoint of a run: the energies of finished tasks. A run that was stopped or killed resumes from it, with any
/// number of processes.
///
/// Rank 0, or a single process, appends to the file with the given name. Rank n appends to a file with that name plus
/// ".rank<n>". No rank waits for another one to append. At the start all these files are read, each file by one rank.
/// Energies are stored exactly. Therefore a resumed run gives the same bits as an uninterrupted one if workers of the
/// same kind compute the remaining tasks.
class Journal {
 public:
  /// Opens a journal and reads the finished tasks from all its files. All ranks then have the same finished tasks with
  /// the same energies. If several files contain a task, the energies come from the lowest rank that has read such a
  /// file. Collective if `communicator` is not null. Throws what `JournalFile` throws, on every rank.
  ///
  /// `path`: name of the file of rank 0. `key`: the calculation to which the energies must belong. `communicator`: null
  /// for a single process. `writes`: true if this rank will call `append`; its file is created if it does not exist.
  Journal(const std::string& path, const JournalKey& key, Communicator* communicator = nullptr, bool writes = true);

  /// Returns true if `path` names another file that a rank writes or would write for the journal with the name
  /// `journal`: the journal of a rank above 0, or the sums of a rank.
  static bool is_file_of_rank(const std::string& journal, const std::string& path);

  /// Returns the tiling of the plan to which a journal belongs; nullopt if the journal does not exist or holds nothing
  /// yet. Collective if `communicator` is not null. Throws as `JournalFile::tiles_in`, on every rank.
  static std::optional<Tiling> tiles_in(const std::string& path, Communicator* communicator = nullptr);

  /// Returns true if the task was finished when the journal was opened. Its energies are then in `energies(task)`.
  bool finished(std::size_t task) const { return finished_[task]; }
  /// Returns the energies of a finished task, energies[omega2], hartree; zeros if the task was not finished.
  std::span<const TaskEnergy> energies(std::size_t task) const {
    return std::span(energies_).subspan(task * key_.results.omega2, key_.results.omega2);
  }
  /// Returns the kind of worker that computed a finished task.
  WorkerKind by(std::size_t task) const { return by_[task]; }

  /// Appends the energies of a task to the file of this rank. One thread at a time may call it. Throws
  /// std::logic_error if the journal was opened without `writes`, and SystemError with the name of the file if writing
  /// fails, e.g. because the disk is full. Earlier records stay valid.
  ///
  /// `task`: number of the task in the plan. `by`: the kind of worker that computed it. `energies`: energies[omega2],
  /// hartree.
  void append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies);
  /// Returns when the records of this rank are on the disk. Throws as append().
  void synchronise();

  /// Returns the calculation of this run.
  const JournalKey& key() const { return key_; }
  /// Returns true if this rank appends to a file of its own.
  bool writes() const { return file_ != nullptr; }
  /// Returns the name of the file of rank 0, as the constructor got it.
  const std::string& path() const { return path_; }
  /// Returns all warnings for the user as one text, the same on all ranks; empty if there is none. A warning says,
  /// e.g., that records of the files are damaged and not used.
  const std::string& warning() const { return warning_; }

 private:
  /// What a rank has learnt from the files that it has read, as numbers that ranks can exchange.
  struct FilesOfRank {
    double unlocked = 0.0;                ///< number of files without a lock
    double records = 0.0, damaged = 0.0;  ///< as in JournalFileState, for all these files together
    double writer = 0.0, byte = 0.0;      ///< the first damaged record: rank that wrote its file, first byte
    void add(int rank, const JournalFileState& file);
  };
  /// Reads the files that are assigned to this rank and adds what they show to `seen`.
  void read_files(const std::map<int, std::string>& files, int rank, int ranks, bool writes, FilesOfRank& seen);
  /// Writes the warnings about the files of all ranks. Collective if `communicator` is not null.
  void write_warning(const FilesOfRank& seen, Communicator* communicator);
  /// Gives all ranks the finished tasks of all ranks. Collective.
  void agree_on_finished(Communicator& communicator);
  /// Stores the energies of a task that a file contains, unless the task is known already.
  void add_finished(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies);

  std::string path_, warning_;
  JournalKey key_;
  std::unique_ptr<JournalFile> file_;  ///< file of this rank; null if it does not write
  std::vector<bool> finished_;
  std::vector<WorkerKind> by_;
  std::vector<TaskEnergy> energies_;  ///< energies[task, omega2], hartree
};

}

#pragma GCC visibility pop
