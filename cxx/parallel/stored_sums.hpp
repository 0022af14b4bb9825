#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/parallel/journal.hpp"
#include "cxx/plan/task_results.hpp"
#include "cxx/plan/task_sums.hpp"

namespace trifuse {

class Communicator;

/// The sums of a rank cannot be written. The earlier file stays.
class SumsNotStored final : public SystemError {
 public:
  using SystemError::SystemError;
};

/// The arrays to which tasks have added, in files beside a journal. A journal has the energies of each task, but the
/// arrays are too large to be stored for each task. So each rank writes its arrays from time to time, with the list of
/// the tasks that they contain. A run that resumes has to execute all tasks that no file contains.
///
/// Rank n writes the file of its journal with the ending ".sums". A later run with the same rank replaces the file: it
/// begins with these arrays and adds to them. The files of ranks that this run does not have stay as they are, and are
/// added to the arrays when all tasks are done. So a task is always in one file only.
///
/// A file appears under its name only when it is complete. A kill leaves the file that was written before.
class StoredSums {
 public:
  /// Reads the files of a journal, and adds those of this rank to `sums`. Collective if `communicator` is not null.
  /// Throws on every rank: UsageError if a file is damaged, or belongs to a run with other input, options or arrays, or
  /// if the files do not belong to the journal; SystemError if a file cannot be read, or that of this rank not written.
  ///
  /// `journal`: must stay valid. `arrays`: the arrays of this run. `sums`: of this rank, zeros.
  StoredSums(Journal& journal, std::span<const SummedArray> arrays, Communicator* communicator, TaskSums& sums);

  /// Returns true if the sums of a task are in the files that have been read. It is the same on all ranks.
  bool contains(std::size_t task) const { return contained_[task]; }

  /// Returns true if it is time to write again: a minute after the last time, and so late that writing takes a small
  /// part of the time of the run. `pause`: seconds instead of a minute; 0: it is always time.
  bool due(double pause) const;
  /// Writes the arrays of this rank. No worker may add to them meanwhile. `done`: done[task], the tasks that this rank
  /// has executed in this run and added to `sums`. Does nothing if the file has all of them. Throws SumsNotStored
  /// if that fails, e.g. because the disk is full.
  void write(const std::vector<bool>& done, const TaskSums& sums);
  /// Adds the arrays of ranks that this run does not have. Call it once, after the last write(). Throws as the
  /// constructor.
  void add_absent(TaskSums& sums) const;

 private:
  /// Reads a file and checks all of it. Returns the tasks that it contains. `sums`: to which its arrays are added; may
  /// be null.
  std::vector<bool> read(const std::string& path, TaskSums* sums) const;
  /// Writes the file of this rank with these tasks.
  void write_file(const std::vector<bool>& tasks, const TaskSums& sums);
  /// Returns the bytes at the beginning of each file.
  std::string header() const;
  /// Throws UsageError unless each task is in at most one file, and in the journal. `files`: number of files with a
  /// task.
  void check(std::span<const double> files) const;

  Journal& journal_;
  const std::vector<SummedArray> arrays_;
  std::string path_;                   ///< file of this rank
  std::map<int, std::string> absent_;  ///< files of ranks that this run does not have, which this rank adds
  std::vector<bool> own_, contained_;  ///< [task]: in the file of this rank; in any file when they were read
  double last_ = 0.0, seconds_ = 0.0;  ///< end of the last writing; its duration
};

}
