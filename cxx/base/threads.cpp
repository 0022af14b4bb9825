#include "cxx/base/threads.hpp"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <iterator>
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

/// Returns the number of threads that the system counts for this process; 0 if it is not known.
std::ptrdiff_t counted_threads() {
  std::error_code failure;
  const std::filesystem::directory_iterator tasks("/proc/self/task", failure);
  return failure ? 0 : std::distance(begin(tasks), end(tasks));
}

/// Starts up to `wanted` threads besides the caller, ends them again, and returns how many could be started.
int started_threads(int wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;
  const std::ptrdiff_t before = counted_threads();
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
        changed.wait(lock, [&] { return ending; });
      });
    }
  } catch (const std::system_error&) {  // no more threads can be started
  } catch (const std::bad_alloc&) {
  }
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (void* const space : spaces) munmap(space, space_of_thread);
  // The system counts threads for a moment after they have been joined. OpenMP ends the program if it cannot start its
  // threads because of that.
  for (int n = 0; n < 1000 && counted_threads() > before; ++n)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    constexpr int of_others = 2;  // threads that start devices, and threads of libraries
    const int found = 1 + started_threads(wanted - 1 + of_others) - of_others;
    limited = found < wanted;
    possible = std::max(possible, found);
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
