#include <dlfcn.h>
#include <time.h>

namespace {

using Progress = unsigned (*)(void* worker);

}

/// A library to be loaded before a program's own (LD_PRELOAD): a rank of MPICH that waits for a message sleeps for a
/// moment after each look. MPICH itself never gives way. With more ranks than cores, the waiting ranks would take most
/// of the time of those that compute.
extern "C" unsigned ucp_worker_progress(void* worker) {
  static const auto progress = reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned events = progress(worker);
  if (events == 0) {
    const timespec moment{0, 20'000};
    nanosleep(&moment, nullptr);
  }
  return events;
}
