#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace trifuse::gpu {

/// Memory of a peer: device memory that another rank has allocated and exported. The device that is current when this
/// object is made can read it. The memory may lie on another device or on the same one. Ranks are processes of one
/// host, or threads of one process.
class PeerMemory {
 public:
  /// Returns a handle with which other ranks open memory that cudaMalloc returned on the current device. Returns an
  /// empty string if the system does not allow it.
  static std::string export_handle(const void* memory);

  /// Opens exported memory. If that is not possible, data() is null: the process may be gone, the peer may have failed,
  /// or the devices cannot reach each other.
  explicit PeerMemory(const std::string& handle);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// Lets the current device read memory of another device of this process. Returns false if it cannot. `device`:
  /// number of the other device; may be the current one.
  static bool enable_access(int device);
  /// Puts a copy from memory of a peer on `stream`. Returns false if CUDA refuses it, because the peer or the current
  /// device has failed. In the second case CUDA also refuses every other call for the current device.
  static bool copy(std::byte* to, const std::byte* from, std::int64_t bytes, cudaStream_t stream);

  /// Returns the begin of the memory; null if it could not be opened.
  const std::byte* data() const { return static_cast<const std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
  bool of_this_process_ = false;
};

}
