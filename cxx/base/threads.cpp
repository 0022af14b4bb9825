#include "cxx/base/threads.hpp"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "cxx/base/address_space.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

void refuse_in_forked_process() {
  static std::atomic<pid_t> first{0};
  const pid_t self = getpid();
  pid_t known = 0;
  if (first.compare_exchange_strong(known, self) || known == self) return;
  throw SystemError(
      "This process was forked after a calculation with Trifuse and has lost its threads; start it as a new program "
      "(in Python: multiprocessing with the start method \"spawn\"), or fork before the first calculation.");
}

/// Address space of a thread besides its stack, bytes: the buffer of BLAS.
constexpr std::size_t space_of_thread = std::size_t{129} << 20;

/// Starts up to `wanted` threads besides the caller, ends them again, and returns how many could be started.
int started_threads(int wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool end = false;
  const bool limited = address_space_is_limited();
  std::vector<void*> spaces;
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<std::size_t>(wanted));
    while (static_cast<int>(threads.size()) < wanted) {
      if (limited) {
        void* const space = mmap(nullptr, space_of_thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (space == MAP_FAILED) break;
        spaces.push_back(space);
      }
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return end; });
      });
    }
  } catch (const std::system_error&) {  // no more threads can be started
  } catch (const std::bad_alloc&) {
  }
  {
    const std::lock_guard lock(mutex);
    end = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (void* const space : spaces) munmap(space, space_of_thread);
  return static_cast<int>(threads.size());
}

}

int startable_threads(int wanted) {
  refuse_in_forked_process();
  share_malloc_memory_if_limited();
  // Each number is tried only once, because OpenMP keeps the threads that it has started.
  static std::mutex mutex;
  static int possible = 1;
  static bool limited = false;
  const std::lock_guard lock(mutex);
  wanted = std::clamp(wanted, 1, std::min(max_threads, omp_get_thread_limit()));
  if (wanted > possible && !limited) {
    const int found = 1 + started_threads(wanted - 1);
    limited = found < wanted;
    possible = std::max(possible, limited ? found - 1 : found);  // other libraries may need one thread
  }
  return std::min(wanted, possible);
}

int available_threads() {
  constexpr int max_for_each_core = 16;
  return startable_threads(std::min(omp_get_max_threads(), max_for_each_core * std::max(1, omp_get_num_procs())));
}

OpenMpThreads::OpenMpThreads(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}

OpenMpThreads::~OpenMpThreads() {
  omp_set_num_threads(before_);
}

}
