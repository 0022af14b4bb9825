#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "cxx/parallel/run_report.hpp"
#include "fortran_iface/trifuse.h"

namespace trifuse::c_interface {

/// Calls the caller's progress function during a run, from a thread of its own. So the function can cancel the run at
/// any time, also while the input is checked. If no thread can be started, the function is called when tasks end.
class RunWatch {
 public:
  /// Calls `progress` once; begins to call it regularly. Throws nothing: what the function throws cancels the run.
  /// `progress`: null if nobody follows the run.
  RunWatch(trifuse_progress progress, void* context);
  ~RunWatch() { end(); }
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// Returns a flag that becomes true if the function cancels the run; null if nobody follows the run.
  const std::atomic<bool>* stop() const { return progress_ != nullptr ? &stop_ : nullptr; }
  /// Takes over the state of the tasks. Any thread may call it.
  void update(const RunProgress& now);
  /// Calls the function for the last time. Throws what it throws, or has thrown before.
  void finish();
  /// Throws what the function has thrown before finish(), which cancels the run; else returns.
  void rethrow_failure() const;
  /// Returns a sentence about a run that was cancelled. `journal`: path of the journal; empty if there is none.
  std::string sentence(const std::string& journal) const;

 private:
  void call_regularly();
  /// Ends the thread.
  void end();
  void call(const RunProgress& now);
  /// Cancels the run and keeps the exception that is being handled.
  void fail();

  const trifuse_progress progress_;
  void* const context_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RunProgress now_{};
  bool ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

/// Passes the messages of a run to the caller's log function, line by line. Thread-safe.
class RunLog {
 public:
  /// `log`: null if nobody wants the messages.
  RunLog(trifuse_log log, void* context) : log_(log), context_(context) {}
  bool wanted() const { return log_ != nullptr; }
  /// Passes on each line of `text` and cuts no line.
  void write(trifuse_log_level level, const std::string& text);

 private:
  const trifuse_log log_;
  void* const context_;
  std::mutex mutex_;
};

}
