#pragma once

#include <cstddef>
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

  /// Opens exported memory. If that is not possible, data() is null: the process may be gone, or the devices cannot
  /// reach each other.
  explicit PeerMemory(const std::string& handle);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// The begin of the memory; null if it could not be opened.
  const std::byte* data() const { return static_cast<const std::byte*>(memory_); }

 private:
  void* memory_ = nullptr;
  bool of_this_process_ = false;
};

}  // namespace trifuse::gpu
