#include "cxx/cuda/runtime/arrays_in_one.hpp"

#include <algorithm>
#include <utility>

namespace trifuse::gpu {

void ArraysInOne::send(cudaStream_t stream) {
  constexpr std::size_t alignment = 256;  // bytes
  // After a failure the arrays of the parts may be gone.
  const std::vector<Part> parts = std::exchange(parts_, {});
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += (part.array.size() + alignment - 1) / alignment * alignment;
  host_.reserve(bytes);
  device_.reserve(bytes);
  std::size_t offset = 0;
  for (const Part& part : parts) {
    std::copy(part.array.begin(), part.array.end(), host_.data() + offset);
    part.set_pointer(device_.data() + offset);
    offset += (part.array.size() + alignment - 1) / alignment * alignment;
  }
  TRIFUSE_CUDA(cudaMemcpyAsync(device_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream));
}

}
