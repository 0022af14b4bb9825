#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>

namespace trifuse {

/// Carries an exception out of a parallel region of OpenMP. An exception itself must not leave the region.
///
/// Several threads share numbered items of work. If several items fail, the exception of the lowest item is kept. It is
/// the exception that a single thread would throw, if threads begin the items in ascending order and begin no item
/// after a failure. Any thread may call any function.
class FirstFailure {
 public:
  /// Returns true if an item has failed.
  bool any() const { return failed_; }
  /// Keeps the exception that is being handled unless a lower item has failed, too. `index`: number of the failed item.
  /// Call it only inside a catch block.
  void record(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (index <= index_) {
      index_ = index;
      first_ = std::current_exception();
    }
    failed_ = true;
  }
  /// Throws the kept exception; does nothing if no item has failed.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::size_t index_ = std::numeric_limits<std::size_t>::max();
  std::exception_ptr first_;
};

}
