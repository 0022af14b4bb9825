#pragma once

#include <string>

#include "cxx/parallel/run_tasks.hpp"

namespace trifuse::cli {

/// A line that tells how far a run is and how long it will still take: a bar on a terminal, now and then a plain line
/// elsewhere, nothing when quiet. Goes to standard error.
class Progress {
 public:
  explicit Progress(bool quiet);
  void update(const RunProgress& progress);
  /// Leaves the terminal with a clean line.
  void finish();

 private:
  bool quiet_, terminal_;
  double start_, last_;
  double operations_before_ = -1.0;  ///< done by an earlier run, from the journal
  bool drawn_ = false;
};

/// "12 s", "3 min 05 s", "2 h 07 min".
std::string duration(double seconds);

}  // namespace trifuse::cli
