#include "cxx/base/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "cxx/base/zeroed_vector.hpp"

namespace trifuse {

namespace {

/// Asks the system to use large pages, unless the array is small. With small pages the system needs more time to
/// provide the memory than a read needs to fill it. The system may ignore this advice. Results do not depend on it.
void advise_large_pages(void* data, std::size_t bytes) {
  constexpr std::size_t least = std::size_t{4} << 20;  // two large pages on x86-64
  if (bytes < least) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* begin = data;
  if (std::align(page, page, begin, bytes) == nullptr) return;
  static_cast<void>(madvise(begin, bytes / page * page, MADV_HUGEPAGE));
}

}

void Buffer::Free::operator()(double*) const {
  std::free(allocated);
}

Buffer::Buffer(std::size_t count) : count_(count) {
  if (count == 0) return;
  const std::size_t bytes = (count * sizeof(double) + alignment - 1) / alignment * alignment;
  void* const begin = std::aligned_alloc(alignment, bytes);
  if (begin == nullptr) throw std::bad_alloc();
  data_ = {static_cast<double*>(begin), Free{begin}};
  advise_large_pages(begin, bytes);
}

Buffer Buffer::zeros(std::size_t count) {
  Buffer buffer;
  if (count == 0) return buffer;
  void* const begin = allocate_zeros((count + alignment / sizeof(double)) * sizeof(double));
  void* aligned = begin;
  std::size_t room = (count + alignment / sizeof(double)) * sizeof(double);
  std::align(alignment, count * sizeof(double), aligned, room);
  buffer.data_ = {static_cast<double*>(aligned), Free{begin}};
  buffer.count_ = count;
  return buffer;
}

void* allocate_zeros(std::size_t bytes) {
  void* const memory = std::calloc(std::max<std::size_t>(1, bytes), 1);
  if (memory == nullptr) throw std::bad_alloc();
  advise_large_pages(memory, bytes);
  return memory;
}

void fetch_pages(void* memory, std::size_t bytes) {
  constexpr int populate_write = 23;  // MADV_POPULATE_WRITE of Linux 5.14 and later
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (std::align(page, page, memory, bytes) != nullptr)
    static_cast<void>(madvise(memory, bytes / page * page, populate_write));
}

void free_zeros(void* memory) {
  std::free(memory);
}

}
