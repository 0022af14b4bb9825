#pragma once

#include <cstddef>

namespace trifuse {

/// Asks the system to use large pages for `bytes` bytes of memory at `data`. To provide memory in small pages takes the
/// system more time than a read needs to fill the memory. The system may ignore this advice. Results do not depend on
/// it.
void advise_large_pages(void* data, std::size_t bytes);

}  // namespace trifuse
