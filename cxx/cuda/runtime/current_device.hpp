#pragma once

namespace trifuse::gpu {

/// Returns the number of the current GPU of this thread. Throws DeviceError.
int current_device();

/// Makes a GPU the current one of this thread as long as the object exists. The callers of the library may use CUDA in
/// the same thread, and expect that their current GPU is still the same. So no other code of the library sets it,
/// except for benchmarks and NWChem's routines.
///
/// A GPU that was current before, and on which this process has no context, is not made current again, because that
/// would make a context and take memory on it.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_, device_;
};

}
