#include "cxx/cuda/neighbour_memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstring>

#include "cxx/cuda/check.hpp"

namespace trifuse::gpu {

namespace {

/// Whether a call that may be refused was not. A device that has failed is another matter, and an error.
bool granted(cudaError_t code) {
  if (code == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // refusals are remembered, too
  TRIFUSE_CUDA(cudaPeekAtLastError());
  return false;
}

}  // namespace

std::string NeighbourMemory::name_of(const void* memory) {
  cudaIpcMemHandle_t handle;
  if (!granted(cudaIpcGetMemHandle(&handle, const_cast<void*>(memory)))) return {};
  std::string name;
  for (const char byte : handle.reserved) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return name;
}

NeighbourMemory::NeighbourMemory(const std::string& name) {
  cudaIpcMemHandle_t handle;
  constexpr std::size_t bytes = sizeof(handle.reserved);
  if (name.size() != 2 * bytes) return;
  for (std::size_t n = 0; n < bytes; ++n) {
    unsigned value = 0;
    const char* const digits = name.data() + 2 * n;
    const auto read = std::from_chars(digits, digits + 2, value, 16);
    if (read.ptr != digits + 2) return;
    handle.reserved[n] = static_cast<char>(value);
  }
  if (!granted(cudaIpcOpenMemHandle(&memory_, handle, cudaIpcMemLazyEnablePeerAccess))) memory_ = nullptr;
}

NeighbourMemory::~NeighbourMemory() {
  if (memory_ != nullptr) static_cast<void>(cudaIpcCloseMemHandle(memory_));
}

bool can_read(int device, int other) {
  if (device == other) return true;
  int possible = 0;
  TRIFUSE_CUDA(cudaDeviceCanAccessPeer(&possible, device, other));
  if (possible == 0) return false;
  const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
    return true;
  }
  return granted(code);
}

}  // namespace trifuse::gpu
