#include "cxx/cuda/runtime/pinned_mapping.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdint>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse::gpu {

namespace {

/// Maps memory that begins at a large page; null if there is none.
std::byte* map_pages(std::size_t bytes) {
  void* const begin = mmap(nullptr, bytes + pinned_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  auto* const mapped = static_cast<std::byte*>(begin);
  const std::size_t before = (pinned_page - reinterpret_cast<std::uintptr_t>(mapped) % pinned_page) % pinned_page;
  if (before > 0) munmap(mapped, before);
  if (before < pinned_page) munmap(mapped + before + bytes, pinned_page - before);
  return mapped + before;
}

/// Makes the system provide all pages, on several threads, because one thread would need longer.
void touch_pages(std::byte* data, std::size_t bytes) {
  constexpr std::size_t threads = 4, small_page = 4096;
  on_new_threads(threads, [&](std::size_t n) {
    for (std::size_t at = bytes / small_page * n / threads; at < bytes / small_page * (n + 1) / threads; ++at) {
      data[at * small_page] = std::byte{0};
    }
  });
}

}

void* map_pinned(std::size_t bytes) {
  std::byte* const data = map_pages(bytes);
  if (data == nullptr) return nullptr;
  static_cast<void>(madvise(data, bytes, MADV_HUGEPAGE));
  // Otherwise a write after fork() could move the process to new pages, and GPUs would go on with the old ones.
  if (madvise(data, bytes, MADV_DONTFORK) == 0) {
    touch_pages(data, bytes);
    if (cudaHostRegister(data, bytes, cudaHostRegisterPortable) == cudaSuccess) return data;
    static_cast<void>(cudaGetLastError());
  }
  munmap(data, bytes);
  return nullptr;
}

void unmap_pinned(void* data, std::size_t bytes) {
  static_cast<void>(cudaHostUnregister(data));
  munmap(data, bytes);
}

}
