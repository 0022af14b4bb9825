#pragma once

#include <cstddef>

namespace trifuse {

/// Asks for large pages, without which the kernel's work for each page takes longer than reading what will stand there.
/// It is advice: nothing depends on the answer.
void advise_large_pages(void* data, std::size_t bytes);

}  // namespace trifuse
