#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

/// A library to be loaded before a program's own (LD_PRELOAD): a file system without locks, as some mounts of NFS and
/// Lustre are. TRIFUSE_TEST_FLOCK_ERRNO says with which number flock fails. For the rank TRIFUSE_TEST_SLOW_RANK of a
/// job it is a slow disk besides: flock takes TRIFUSE_TEST_SLOW_SECONDS.
extern "C" int flock(int, int) {
  const char *const slow = std::getenv("TRIFUSE_TEST_SLOW_RANK"), *const seconds =
                                                                      std::getenv("TRIFUSE_TEST_SLOW_SECONDS");
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* const rank = std::getenv(variable);
    if (slow == nullptr || seconds == nullptr || rank == nullptr || std::strcmp(rank, slow) != 0) continue;
    for (unsigned left = static_cast<unsigned>(std::atoi(seconds)); left > 0;) left = sleep(left);
  }
  const char* const number = std::getenv("TRIFUSE_TEST_FLOCK_ERRNO");
  errno = number != nullptr ? std::atoi(number) : ENOLCK;
  return -1;
}
