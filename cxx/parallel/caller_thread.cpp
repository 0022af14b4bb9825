#include "cxx/parallel/caller_thread.hpp"

#include <chrono>
#include <system_error>
#include <thread>

#include "cxx/base/error.hpp"

namespace trifuse {

struct CallerThread::Request {
  const std::function<void()>& function;
  std::exception_ptr error;
  bool done = false;
};

namespace {
/// The object whose `serve` this thread executes; null if there is none.
thread_local const CallerThread* served = nullptr;
}

void CallerThread::serve(const std::function<void()>& body, const std::function<void()>& idle) {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    ended_ = alone_ = false;
    serving_ = true;
  }
  const CallerThread* const before = served;
  served = this;
  const auto run_body = [&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  };
  std::thread thread;
  try {
    thread = std::thread(run_body);
  } catch (const std::system_error&) {
    // Other ranks may wait for this rank, so it goes on. Probably no other thread can be started either.
    {
      const std::lock_guard lock(mutex_);
      alone_ = true;
    }
    run_body();
  }
  std::unique_lock lock(mutex_);
  while (true) {
    const auto wanted = [&] { return ended_ || (pending_ != nullptr && !pending_->done); };
    if (idle) {
      while (!changed_.wait_for(lock, std::chrono::milliseconds(1), wanted)) {
        lock.unlock();
        idle();
        lock.lock();
      }
    } else {
      changed_.wait(lock, wanted);
    }
    if (pending_ == nullptr || pending_->done) break;
    Request& request = *pending_;
    // The lock is released because the function may take long and other threads need the lock.
    lock.unlock();
    try {
      request.function();
    } catch (...) {
      request.error = std::current_exception();
    }
    lock.lock();
    request.done = true;
    changed_.notify_all();
  }
  serving_ = false;
  lock.unlock();
  if (thread.joinable()) thread.join();
  served = before;
  if (failure) std::rethrow_exception(failure);
}

void CallerThread::request(const std::function<void()>& function) {
  if (served == this) return function();
  const std::lock_guard turn(turns_);
  std::unique_lock lock(mutex_);
  if (!serving_) throw Error("A call was sent to a thread that does not process calls.");
  if (alone_) {
    throw SystemError(
        "The system did not allow another thread when the run began; start fewer threads or processes, or allow more "
        "(ulimit -u).");
  }
  Request request{function, {}, false};
  pending_ = &request;
  changed_.notify_all();
  changed_.wait(lock, [&] { return request.done; });
  pending_ = nullptr;
  if (request.error) std::rethrow_exception(request.error);
}

}
