#include "cxx/cuda/runtime/peer_memory.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/runtime/current_device.hpp"

namespace trifuse::gpu {

namespace {

/// Returns true if the call succeeded, and false if CUDA refused it. Throws DeviceError if the device has failed.
bool granted(cudaError_t code) {
  if (code == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // CUDA remembers refusals, too
  TRIFUSE_CUDA(cudaPeekAtLastError());
  return false;
}

/// The contents of a handle. The text of a handle is these bytes as hexadecimal digits.
struct PeerHandle {
  std::uint64_t process = 0;     ///< random: process ids are not unique across containers
  const void* memory = nullptr;  ///< address in that process
  cudaIpcMemHandle_t ipc{};
};

std::uint64_t this_process() {
  static const std::uint64_t lot = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
  return lot;
}

std::string digits_of(const PeerHandle& exported) {
  std::string digits;
  for (const std::byte byte : std::as_bytes(std::span(&exported, 1))) {
    digits += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return digits;
}

bool read_digits(const std::string& digits, PeerHandle& exported) {
  const auto bytes = std::as_writable_bytes(std::span(&exported, 1));
  if (digits.size() != 2 * bytes.size()) return false;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    unsigned value = 0;
    const char* const two = digits.data() + 2 * n;
    if (std::from_chars(two, two + 2, value, 16).ptr != two + 2) return false;
    bytes[n] = static_cast<std::byte>(value);
  }
  return true;
}

}

std::string PeerMemory::export_handle(const void* memory) {
  PeerHandle exported{this_process(), memory, {}};
  return granted(cudaIpcGetMemHandle(&exported.ipc, const_cast<void*>(memory))) ? digits_of(exported) : std::string();
}

PeerMemory::PeerMemory(const std::string& handle) {
  PeerHandle exported;
  if (!read_digits(handle, exported)) return;
  of_this_process_ = exported.process == this_process();
  if (of_this_process_) {
    cudaPointerAttributes attributes{};
    const bool known = granted(cudaPointerGetAttributes(&attributes, exported.memory));
    if (known && enable_access(attributes.device)) memory_ = const_cast<void*>(exported.memory);
  } else if (!granted(cudaIpcOpenMemHandle(&memory_, exported.ipc, cudaIpcMemLazyEnablePeerAccess))) {
    memory_ = nullptr;
  }
}

PeerMemory::~PeerMemory() {
  if (memory_ != nullptr && !of_this_process_) static_cast<void>(cudaIpcCloseMemHandle(memory_));
}

bool PeerMemory::enable_access(int device) {
  const int current = current_device();
  if (device == current) return true;
  int possible = 0;
  TRIFUSE_CUDA(cudaDeviceCanAccessPeer(&possible, current, device));
  if (possible == 0) return false;
  const cudaError_t code = cudaDeviceEnablePeerAccess(device, 0);
  return granted(code) || code == cudaErrorPeerAccessAlreadyEnabled;
}

bool PeerMemory::copy(std::byte* to, const std::byte* from, std::int64_t bytes, cudaStream_t stream) {
  if (cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream) == cudaSuccess) return true;
  // The error may be that of the peer. The next check after a launch must not see it.
  static_cast<void>(cudaGetLastError());
  return false;
}

}
