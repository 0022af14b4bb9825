#pragma once

#include <string>

#include "cxx/parallel/run_tasks.hpp"

namespace trifuse::cli {

/// Shows the progress and the remaining time of a run on standard error: a bar on a terminal, a plain line from time to
/// time elsewhere. If `quiet`, it shows nothing.
class Progress {
 public:
  /// `quiet`: true if nothing is to be shown.
  explicit Progress(bool quiet);
  /// Shows the progress if the last display is old enough.
  void update(const RunProgress& progress);
  /// Removes the bar from the terminal.
  void finish();

 private:
  bool quiet_, terminal_;
  double start_, last_;
  double operations_before_ = -1.0;  ///< done by an earlier run, from the journal; negative: not known yet
  bool drawn_ = false;
};

/// A duration as text: "12 s", "3 min 05 s", "2 h 07 min". `seconds`: a negative number counts as 0.
std::string duration(double seconds);

}  // namespace trifuse::cli
