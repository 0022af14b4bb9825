#pragma once

#pragma GCC visibility push(default)

namespace trifuse {

/// Largest number of threads that a user may request.
inline constexpr int max_threads = 4096;

/// Returns the number of threads for work that all threads share. It is OpenMP's number (OMP_NUM_THREADS, else one for
/// each core that the process may use), but at most 16 for each core and at most the number that can be started. Throws
/// SystemError as `startable_threads` does.
int available_threads();

/// Returns how many of `wanted` threads this process can have at the same time, at least 1. Limits of the user
/// (ulimit -u), of a container or of the address space (ulimit -v) may allow fewer than `wanted`. OpenMP would end the
/// program if it could not start a thread.
///
/// Throws SystemError if the parent process called this function before it forked this process. A forked process has no
/// threads of OpenMP, and OpenMP would wait for them for ever.
int startable_threads(int wanted);

/// Limits the number of OpenMP's threads, and so available_threads(), as long as the object exists. Holds for the
/// calling thread.
class OpenMpThreads {
 public:
  /// `threads`: at least 1.
  explicit OpenMpThreads(int threads);
  ~OpenMpThreads();
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

}

#pragma GCC visibility pop
