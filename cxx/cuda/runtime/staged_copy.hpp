#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

/// Copies of large amounts of memory between the host and the current GPU. They go through pinned memory in parts, on
/// several threads. The bus is faster than a single copying thread, and faster than the driver's own copies of memory
/// that is not pinned.
namespace trifuse::gpu {

/// The largest part of a copy, in doubles, if the caller has a choice.
inline constexpr std::int64_t usual_part = std::int64_t{1} << 17;

/// A part of a copy to the GPU.
struct UploadPart {
  double* to;                                   ///< device memory
  std::int64_t doubles;                         ///< size of the part
  std::function<void(std::span<double>)> read;  ///< writes the numbers to host memory
};
/// Copies the parts to the current GPU, and waits until they are there. `threads`: at least 1. The functions `read` are
/// called from several threads; exceptions of `read` are passed on.
void upload(std::span<const UploadPart> parts, int threads);

/// Copies `bytes` of device memory of the current GPU in parts, and calls `use`(n, part) with each of them, which
/// begins at byte n. Parts begin at multiples of usual_part doubles, and are valid until `use` returns. `threads`: at
/// least 1; the function starts them, and several call `use` at once.
void download_parts(const void* from, std::size_t bytes, int threads,
                    const std::function<void(std::size_t, std::span<const std::byte>)>& use);

/// Copies device memory of the current GPU to `to`, and waits for the copy. `from`: at least to.size() bytes.
/// `threads`: at least 1; the function starts them.
void download(const void* from, std::span<std::byte> to, int threads);

}
