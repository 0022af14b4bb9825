#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "cxx/base/buffer.hpp"
#include "cxx/base/first_failure.hpp"

namespace trifuse {

/// A buffer that several threads fill together, part by part. Each thread that needs the buffer helps to fill it, so no
/// thread waits while another thread fills it alone.
class JointBuffer {
 public:
  /// Makes a buffer of `doubles` numbers, not initialised. `parts`: number of parts in which it is filled.
  JointBuffer(std::size_t doubles, std::size_t parts) : values_(doubles), parts_(parts) {}

  /// Returns the numbers. They are valid when `complete` has returned.
  double* data() { return values_.data(); }
  const double* data() const { return values_.data(); }

  /// Calls `fill(part)` for parts 0 to `parts` - 1 that no thread has begun, and returns when all parts are filled.
  /// `fill` must write the part into `data()`. Thread-safe. After a failure no thread begins another part, and every
  /// caller throws the exception of the lowest part that failed.
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

}
