#include "cxx/base/error.hpp"
#include "cxx/cuda/runtime/device_copy.hpp"

/// Replaces device_copy.cpp in a build without CUDA, so that callers need no special case.
namespace trifuse {

void wait_for_device(int) {
  throw UsageError("This Trifuse was built without CUDA, so it cannot read arrays of a GPU; pass arrays of the host.");
}

void copy_from_device(int device, const void*, std::span<std::byte>) {
  wait_for_device(device);
}

}
