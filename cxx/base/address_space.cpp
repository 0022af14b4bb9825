#include "cxx/base/address_space.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <initializer_list>

namespace trifuse {

bool address_space_is_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

void share_malloc_memory_if_limited() {
#if defined(M_ARENA_MAX)
  if (address_space_is_limited()) mallopt(M_ARENA_MAX, 1);
#endif
}

void return_freed_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}
