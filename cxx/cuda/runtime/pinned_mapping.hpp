#pragma once

#include <cstddef>

namespace trifuse::gpu {

/// Size of a large page, bytes.
inline constexpr std::size_t pinned_page = std::size_t{2} << 20;

/// Maps pinned memory, which all GPUs read and write directly, in large pages if the system has them. On one host with
/// two GPUs that each got 400 MiB, this took 70 ms, and cudaMallocHost 390 ms. Returns null if the system or the driver
/// cannot do it; cudaMallocHost may still work. Child processes do not inherit the memory.
///
/// `bytes`: a multiple of pinned_page.
void* map_pinned(std::size_t bytes);
/// Unmaps memory of map_pinned() of the same size. No work that uses it may be pending. Ignores errors.
void unmap_pinned(void* data, std::size_t bytes);

}
