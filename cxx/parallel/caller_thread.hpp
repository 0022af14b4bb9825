#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

namespace trifuse {

/// Lets other threads have things done on one thread. MPI and Global Arrays may be called by the program's own thread
/// only, while the library computes on threads of its own: the calling thread gives its work to another one, and
/// meanwhile serves.
class CallerThread {
 public:
  /// Runs `body` on a new thread and serves its calls on this one until it ends. Throws what the body threw. While
  /// nobody calls, `idle` is done on this thread about every millisecond: for libraries whose messages from other
  /// processes get on only while they are called. It may be empty, and must not throw.
  void serve(const std::function<void()>& body, const std::function<void()>& idle = {});

  /// Executes `function` on the serving thread and returns what it returns, or throws what it throws. For any thread
  /// while `serve` runs; the serving thread itself just executes it.
  template <typename Function>
  auto call(Function function) {
    using Result = std::invoke_result_t<Function>;
    if constexpr (std::is_void_v<Result>) {
      request([&] { function(); });
    } else {
      std::optional<Result> result;
      request([&] { result.emplace(function()); });
      return std::move(*result);
    }
  }

 private:
  void request(const std::function<void()>& function);

  struct Request;
  std::mutex turns_;  ///< one request at a time
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  Request* pending_ = nullptr;
  bool ended_ = false;
  bool serving_ = false;
};

}  // namespace trifuse
