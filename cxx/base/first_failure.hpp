#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>

namespace trifuse {

/// What several threads that share numbered pieces of work failed with, as no exception may leave a parallel region by
/// itself. Where pieces are begun in their order and none after a failure, the one kept is that of one thread alone.
class FirstFailure {
 public:
  bool any() const { return failed_; }
  /// To be called while the exception of a piece is being handled.
  void record(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (index <= index_) {
      index_ = index;
      first_ = std::current_exception();
    }
    failed_ = true;
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::size_t index_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr first_;
};

}  // namespace trifuse
