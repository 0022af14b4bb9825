#pragma once

#include <string>

namespace trifuse::gpu {

/// Memory of a GPU that another rank took and offers, seen by the device that is current when this is made: another
/// one, or the same. Ranks are processes of one host, or threads of one process.
class NeighbourMemory {
 public:
  /// The name under which others open memory that cudaMalloc returned on the current device; empty where the system
  /// does not let them.
  static std::string name_of(const void* memory);

  /// Sees nothing where the name does not open: the process is gone, or the devices have no way to each other.
  explicit NeighbourMemory(const std::string& name);
  ~NeighbourMemory();
  NeighbourMemory(const NeighbourMemory&) = delete;
  NeighbourMemory& operator=(const NeighbourMemory&) = delete;

  const char* data() const { return static_cast<const char*>(memory_); }

 private:
  void* memory_ = nullptr;
  bool of_this_process_ = false;
};

}  // namespace trifuse::gpu
