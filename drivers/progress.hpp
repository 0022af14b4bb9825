#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cxx/parallel/run_tasks.hpp"

namespace trifuse::cli {

/// One line of standard error that the next text replaces, cut to the width of the terminal. Shows nothing if standard
/// error is not a terminal.
class StatusLine {
 public:
  /// `quiet`: true if nothing is to be shown.
  explicit StatusLine(bool quiet = false);
  /// Removes the line.
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool is_shown() const { return shown_; }
  /// Returns the number of characters that fit.
  static std::size_t width();
  /// Shows `text`, which is ASCII without control characters.
  void show(std::string_view text);
  /// Removes the text from the terminal.
  void clear();

 private:
  bool shown_;
  bool drawn_ = false;
};

/// Shows the progress and the remaining time of a run on standard error: a bar on a terminal, a plain line from time to
/// time elsewhere. If `quiet`, it shows nothing.
class Progress {
 public:
  /// `quiet`: true if nothing is to be shown.
  explicit Progress(bool quiet);
  /// Shows the progress if the last display is old enough.
  void update(const RunProgress& progress);
  /// Removes the bar from the terminal.
  void finish() { line_.clear(); }

 private:
  bool quiet_;
  StatusLine line_;
  double start_, last_;
  double operations_before_ = -1.0;  ///< done by an earlier run, from the journal; negative: not known yet
};

/// Returns a duration as text: "12 s", "3 min 05 s", "2 h 07 min". `seconds`: a negative number counts as 0.
std::string duration(double seconds);

}
