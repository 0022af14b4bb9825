#pragma once

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace trifuse {

/// Scratch objects that threads use in turn, e.g. buffers that are too expensive to be made for each use. There are as
/// many as were in use at one time, and at most a given number. Any thread may call the functions.
///
///     const auto scratch = spares.take();
///     scratch->resize(count);
template <typename T>
class Spares {
 public:
  /// Gives the object back when it is destroyed. It must not outlive the spares.
  class Use {
   public:
    Use(Spares& owner, std::unique_ptr<T> object) : owner_(owner), object_(std::move(object)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { owner_.give_back(std::move(object_)); }
    T* operator->() const { return object_.get(); }
    T& operator*() const { return *object_; }

   private:
    Spares& owner_;
    std::unique_ptr<T> object_;
  };

  /// `most`: the largest number of objects.
  explicit Spares(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  /// Returns an object that nobody uses: one that has been used before, or else T(). If the largest number of objects
  /// is in use, waits for one of them. So with such a limit, a thread that has an object must not take another one.
  Use take() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return !idle_.empty() || objects_ < most_; });
    if (idle_.empty()) {
      idle_.reserve(objects_ + 1);  // room for give_back(), which must not throw
      auto object = std::make_unique<T>();
      ++objects_;
      return {*this, std::move(object)};
    }
    std::unique_ptr<T> object = std::move(idle_.back());
    idle_.pop_back();
    return {*this, std::move(object)};
  }

 private:
  void give_back(std::unique_ptr<T> object) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(object));
    }
    given_back_.notify_one();
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::size_t objects_ = 0;  ///< that have been made
  std::vector<std::unique_ptr<T>> idle_;
};

}
