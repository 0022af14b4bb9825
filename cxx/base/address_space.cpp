#include "cxx/base/address_space.hpp"

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

}  // namespace trifuse
