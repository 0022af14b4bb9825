#include "fortran_iface/run_watch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <system_error>

#include "cxx/base/printable.hpp"

namespace trifuse::c_interface {
namespace {

constexpr std::chrono::milliseconds interval(100);

}

RunWatch::RunWatch(trifuse_progress progress, void* context) : progress_(progress), context_(context) {
  if (progress_ == nullptr) return;
  try {
    call(now_);
  } catch (...) {  // other ranks wait for the run of this one, which ends soon
    fail();
    return;
  }
  try {
    thread_ = std::thread([this] { call_regularly(); });
  } catch (const std::system_error&) {  // no thread: update() calls the function
  }
}

void RunWatch::call(const RunProgress& now) {
  if (progress_(context_, now.operations_done, now.operations) != 0) stop_ = true;
}

void RunWatch::call_regularly() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return ended_; })) {
    const RunProgress now = now_;
    lock.unlock();
    try {
      call(now);
    } catch (...) {  // from a function in C++; it cannot pass through this thread
      return fail();
    }
    lock.lock();
  }
}

void RunWatch::fail() {
  const std::lock_guard lock(mutex_);
  failure_ = std::current_exception();
  stop_ = true;
}

void RunWatch::rethrow_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void RunWatch::update(const RunProgress& now) {
  const std::lock_guard lock(mutex_);
  now_ = now;
  if (progress_ != nullptr && !thread_.joinable()) call(now);
}

void RunWatch::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RunWatch::finish() {
  end();
  rethrow_failure();
  if (progress_ != nullptr) call(now_);
}

std::string RunWatch::sentence(const std::string& journal) const {
  const std::lock_guard lock(mutex_);
  const std::string when = now_.tasks > 0 ? fmt::format("after {} of {} tasks", now_.tasks_done, now_.tasks)
                                          : std::string("before its first task was finished");
  const std::string cure = journal.empty() ? "a journal (trifuse_set_journal) makes it possible to resume a run"
                                           : fmt::format("a run with the journal {} resumes it", printable(journal));
  return fmt::format("The calling program cancelled the run {}; {}.", when, cure);
}

void RunLog::write(trifuse_log_level level, const std::string& text) {
  if (log_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) log_(context_, level, printable(line).c_str());
}

}
