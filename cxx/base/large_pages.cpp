#include "cxx/base/large_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

namespace trifuse {

void advise_large_pages(void* data, std::size_t bytes) {
  void* begin = data;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (std::align(page, page, begin, bytes) == nullptr) return;
  static_cast<void>(madvise(begin, bytes / page * page, MADV_HUGEPAGE));
}

}  // namespace trifuse
