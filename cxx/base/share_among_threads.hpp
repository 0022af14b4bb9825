#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "cxx/base/first_failure.hpp"

/// All loops on several threads. Each function returns when all calls have ended. `threads`: at least 1, and at most
/// startable_threads(). Inside a parallel region OpenMP starts no further threads, so only the calling thread works;
/// on_new_threads() alone starts threads there, too.
namespace trifuse {

/// Calls `body(thread)` once on each of `threads` threads, thread = 0, 1, ... If several calls fail, throws the
/// exception of the lowest thread.
template <typename Body>
void on_threads(int threads, Body body) {
  FirstFailure failure;
#pragma omp parallel num_threads(threads)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    try {
      body(thread);
    } catch (...) {
      failure.record(thread);
    }
  }
  failure.rethrow();
}

/// Calls `body(n)` for n = 0 .. `threads` - 1, each on a thread of its own, which ends afterwards. If a thread cannot
/// be started, the calling thread takes over its call. Throws the exception of the lowest n.
template <typename Body>
void on_new_threads(std::size_t threads, Body body) {
  FirstFailure failure;
  const auto call = [&](std::size_t n) {
    try {
      body(n);
    } catch (...) {
      failure.record(n);
    }
  };
  std::vector<std::thread> others;
  others.reserve(threads);
  std::size_t started = 1;
  try {
    for (; started < threads; ++started) others.emplace_back(call, started);
  } catch (const std::system_error&) {  // no more threads can be started
  }
  call(0);
  for (std::size_t n = started; n < threads; ++n) call(n);
  for (std::thread& other : others) other.join();
  failure.rethrow();
}

/// Calls `body(n)` for n = 0 .. `count` - 1. Thread t of T makes the calls t, t + T, t + 2 T, ..., so the same thread
/// makes the same calls each time. Throws the exception of the lowest n that failed.
template <typename Body>
void share_in_turns(std::size_t count, int threads, Body body) {
  FirstFailure failure;
  on_threads(threads, [&](std::size_t thread) {
    const auto step = static_cast<std::size_t>(omp_get_num_threads());
    for (std::size_t n = thread; n < count; n += step) {
      try {
        body(n);
      } catch (...) {
        failure.record(n);
      }
    }
  });
  failure.rethrow();
}

/// Calls `body(n, state, lock)` for n = 0 .. `count` - 1; a thread that is free makes the next call. Each thread has
/// its own default-constructed `State`. Calls begin in ascending order of n. After a failure no further call begins.
/// Throws the exception that one thread alone would have thrown.
///
/// `ordered`: true if each call holds `lock`, a std::unique_lock, when it begins. The next call begins when the lock is
/// released. If false, `lock` is not locked.
template <typename State, typename Body>
void share_with_lock(std::size_t count, int threads, bool ordered, Body body) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  FirstFailure failure;
  on_threads(threads, [&](std::size_t) {
    State state;
    while (!failure.any()) {
      std::unique_lock lock(mutex, std::defer_lock);
      if (ordered) lock.lock();
      const std::size_t n = next++;
      if (n >= count) break;
      try {
        body(n, state, lock);
      } catch (...) {
        failure.record(n);
      }
    }
  });
  failure.rethrow();
}

/// Calls `body(n, state)` as share_with_lock() does, without a lock.
template <typename State, typename Body>
void share_among_threads(std::size_t count, int threads, Body body) {
  share_with_lock<State>(count, threads, false,
                         [&](std::size_t n, State& state, const std::unique_lock<std::mutex>&) { body(n, state); });
}

}
