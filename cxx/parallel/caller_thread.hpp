#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>

#pragma GCC visibility push(default)

namespace trifuse {

/// Lets other threads execute functions on one particular thread. Only one thread may call MPI and Global Arrays, but
/// the library computes on other threads. The one thread that may do so, that of the program or of its caller, calls
/// `serve`. This function starts the computation on a new thread and executes the functions that the library passes to
/// `call`.
class CallerThread {
 public:
  /// Runs `body` on a new thread. Until `body` ends, executes on this thread the functions that other threads pass to
  /// `call`. Throws the exception that `body` threw. If no thread can be started, runs `body` on this thread; then
  /// calls of other threads throw SystemError.
  ///
  /// `idle`: a function that this thread calls about every millisecond while no request is pending. Some libraries
  /// receive messages from other processes only while the program calls them. `idle` may be empty. It must not throw.
  void serve(const std::function<void()>& body, const std::function<void()>& idle = {});

  /// Executes `function` on the serving thread and returns its result. Throws the exception that `function` threw, and
  /// Error if `serve` is not running. Any thread may call it. On the serving thread itself it executes `function`
  /// directly.
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
  std::mutex mutex_;  ///< guards all members below
  std::condition_variable changed_;
  Request* pending_ = nullptr;
  bool ended_ = false;
  bool serving_ = false;
  bool alone_ = false;  ///< `body` runs on the serving thread
};

}

#pragma GCC visibility pop
