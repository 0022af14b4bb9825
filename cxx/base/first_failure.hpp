#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace trifuse {

/// The first exception of several threads, which may not leave a parallel region by themselves.
class FirstFailure {
 public:
  bool any() const { return failed_; }
  /// To be called while an exception is being handled.
  void keep() {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::current_exception();
    failed_ = true;
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace trifuse
