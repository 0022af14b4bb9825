#include "cxx/cuda/runtime/neighbour_memory.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "cxx/cuda/kernel/check.hpp"

namespace trifuse::gpu {

namespace {

/// Whether a call that may be refused was not. A device that has failed is another matter, and an error.
bool granted(cudaError_t code) {
  if (code == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // refusals are remembered, too
  TRIFUSE_CUDA(cudaPeekAtLastError());
  return false;
}

/// What stands in a name, as digits.
struct Offer {
  std::uint64_t process = 0;  ///< drawn by lot: numbers of processes are not enough to tell those of containers apart
  const void* memory = nullptr;  ///< as that process sees it
  cudaIpcMemHandle_t handle{};
};

std::uint64_t this_process() {
  static const std::uint64_t lot = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
  return lot;
}

std::string digits_of(const Offer& offer) {
  std::string digits;
  for (const std::byte byte : std::as_bytes(std::span(&offer, 1))) {
    digits += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return digits;
}

bool read_digits(const std::string& digits, Offer& offer) {
  const auto bytes = std::as_writable_bytes(std::span(&offer, 1));
  if (digits.size() != 2 * bytes.size()) return false;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    unsigned value = 0;
    const char* const two = digits.data() + 2 * n;
    if (std::from_chars(two, two + 2, value, 16).ptr != two + 2) return false;
    bytes[n] = static_cast<std::byte>(value);
  }
  return true;
}

/// Lets the current device read the memory of another device of this process. Returns whether it can.
bool open_way_to(const void* memory) {
  cudaPointerAttributes attributes{};
  int current = 0, possible = 0;
  TRIFUSE_CUDA(cudaPointerGetAttributes(&attributes, memory));
  TRIFUSE_CUDA(cudaGetDevice(&current));
  if (attributes.device == current) return true;
  TRIFUSE_CUDA(cudaDeviceCanAccessPeer(&possible, current, attributes.device));
  if (possible == 0) return false;
  const cudaError_t code = cudaDeviceEnablePeerAccess(attributes.device, 0);
  return granted(code) || code == cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

std::string NeighbourMemory::name_of(const void* memory) {
  Offer offer{this_process(), memory, {}};
  return granted(cudaIpcGetMemHandle(&offer.handle, const_cast<void*>(memory))) ? digits_of(offer) : std::string();
}

NeighbourMemory::NeighbourMemory(const std::string& name) {
  Offer offer;
  if (!read_digits(name, offer)) return;
  of_this_process_ = offer.process == this_process();
  if (of_this_process_) {
    if (open_way_to(offer.memory)) memory_ = const_cast<void*>(offer.memory);
  } else if (!granted(cudaIpcOpenMemHandle(&memory_, offer.handle, cudaIpcMemLazyEnablePeerAccess))) {
    memory_ = nullptr;
  }
}

NeighbourMemory::~NeighbourMemory() {
  if (memory_ != nullptr && !of_this_process_) static_cast<void>(cudaIpcCloseMemHandle(memory_));
}

}  // namespace trifuse::gpu
