#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace trifuse {

/// Scratch objects that threads use in turn, e.g. buffers that are too expensive to be made for each use. There are as
/// many as were in use at one time. Any thread may call the functions.
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
    ~Use() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.idle_.push_back(std::move(object_));
    }
    T* operator->() const { return object_.get(); }
    T& operator*() const { return *object_; }

   private:
    Spares& owner_;
    std::unique_ptr<T> object_;
  };

  /// Returns an object that nobody uses: one that has been used before, or else T().
  Use take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> object = std::move(idle_.back());
        idle_.pop_back();
        return {*this, std::move(object)};
      }
    }
    return {*this, std::make_unique<T>()};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}
