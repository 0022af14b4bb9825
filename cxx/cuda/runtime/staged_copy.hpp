#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// Copies of much memory between the host and the current GPU. They go through pinned memory in parts, on several
/// threads: the bus is faster than one thread that copies, and than copies of the driver from memory that is not
/// pinned.
namespace trifuse::gpu {

/// The largest part of a copy, in doubles, if the caller has a choice.
inline constexpr std::int64_t usual_part = std::int64_t{1} << 17;

/// A part of a copy to the GPU.
struct UploadPart {
  double* to;                                   ///< device memory
  std::int64_t doubles;                         ///< size of the part
  std::function<void(std::span<double>)> read;  ///< writes the numbers to host memory
};
/// Copies the parts to the current GPU, and waits for it. `threads`: at least 1. The functions `read` are called from
/// several threads; their exceptions are passed on.
void upload(std::span<const UploadPart> parts, int threads);

/// Copies device memory of the current GPU to `to`, and waits for it. `threads`: at least 1; the function starts them.
void download(const void* from, std::span<std::byte> to, int threads);

}  // namespace trifuse::gpu
