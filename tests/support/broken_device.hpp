#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

/// Makes GPUs fail or fills their memory, by calls of the CUDA driver.
namespace trifuse::testing {

/// Finds a function of the CUDA driver. Test programs are not linked with the driver.
template <typename Function>
Function* driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

/// Makes the context of the CUDA runtime on a device the current context. Returns the driver's code, or -1.
inline int enter_context_of(int number) {
  const auto retain = driver_function<int(void**, int)>("cuDevicePrimaryCtxRetain");
  const auto enter = driver_function<int(void*)>("cuCtxSetCurrent");
  if (retain == nullptr || enter == nullptr) return -1;
  void* context = nullptr;
  const int code = retain(&context, number);
  return code != 0 ? code : enter(context);
}

/// Runs a kernel that traps, in the context of the CUDA runtime on a device. From then on, all calls of this process
/// for this device fail. Returns 0 on success, else the driver's code, or -1.
inline int break_device(int number) {
  constexpr const char* trap = R"(.version 6.4
.target sm_70
.address_size 64
.visible .entry give_up() { trap; ret; }
)";
  const auto load = driver_function<int(void**, const void*)>("cuModuleLoadData");
  const auto find = driver_function<int(void**, void*, const char*)>("cuModuleGetFunction");
  const auto launch = driver_function<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          void*, void**, void**)>("cuLaunchKernel");
  const auto wait = driver_function<int()>("cuCtxSynchronize");
  if (load == nullptr || find == nullptr || launch == nullptr || wait == nullptr) return -1;
  void *module = nullptr, *kernel = nullptr;
  for (const int code : {enter_context_of(number), load(&module, trap), find(&kernel, module, "give_up"),
                         launch(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)}) {
    if (code != 0) return code;
  }
  return wait() != 0 ? 0 : -1;
}

/// Allocates memory of a device and frees it in the destructor.
class DeviceMemory {
 public:
  DeviceMemory(int number, std::int64_t bytes) {
    const auto take = driver_function<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
    if (take != nullptr && enter_context_of(number) == 0) {
      taken_ = take(&place_, static_cast<std::size_t>(bytes)) == 0;
    }
  }
  ~DeviceMemory() {
    if (taken_) driver_function<int(std::uint64_t)>("cuMemFree_v2")(place_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  explicit operator bool() const { return taken_; }

 private:
  std::uint64_t place_ = 0;
  bool taken_ = false;
};

}
