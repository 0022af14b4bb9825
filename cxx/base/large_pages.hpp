#pragma once

#include <cstddef>

namespace trifuse {

/// Asks the system for large pages for `bytes` bytes from `data` on. With small pages the system needs longer to
/// provide memory than a read needs to fill it. This is advice: results do not depend on it.
void advise_large_pages(void* data, std::size_t bytes);

}  // namespace trifuse
