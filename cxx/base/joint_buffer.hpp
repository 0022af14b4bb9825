#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "cxx/base/buffer.hpp"
#include "cxx/base/first_failure.hpp"

namespace trifuse {

/// Memory that is filled by all threads that need it, part by part, so that no thread waits while another fills it
/// alone.
class JointBuffer {
 public:
  /// An uninitialised buffer of `doubles` numbers that is filled in `parts` parts.
  JointBuffer(std::size_t doubles, std::size_t parts) : values_(doubles), parts_(parts) {}

  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }

  /// Calls `fill(part)` for parts that no thread has begun, and returns when all parts are filled. Thread-safe. After
  /// a failure every caller throws what `fill` threw for the first part that failed.
  template <typename Fill>
  void complete(Fill fill) {
    std::unique_lock lock(mutex_);
    while (begun_ < parts_ && !failure_.any()) {
      const std::size_t part = begun_++;
      lock.unlock();
      try {
        fill(part);
      } catch (...) {
        failure_.record(part);
      }
      lock.lock();
      if (++finished_ == begun_) all_finished_.notify_all();
    }
    all_finished_.wait(lock, [&] { return finished_ == begun_; });
    failure_.rethrow();
  }

 private:
  Buffer values_;
  std::size_t parts_;
  std::mutex mutex_;
  std::condition_variable all_finished_;
  std::size_t begun_ = 0, finished_ = 0;
  FirstFailure failure_;
};

}  // namespace trifuse
