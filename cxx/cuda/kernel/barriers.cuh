#pragma once

#include <cstdint>

/// Barriers in shared memory and the bulk copies that complete on them (compute capability 9.0).
namespace trifuse::gpu {

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// A phased barrier: complete when `arrivals` threads have arrived and all expected bytes are there.
struct Barrier {
  unsigned address;

  __device__ __forceinline__ void initialise(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals));
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }
  __device__ __forceinline__ void arrive_expecting(int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
#endif
  }
  __device__ __forceinline__ void wait(unsigned parity) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(address),
        "r"(parity)
        : "memory");
#endif
  }
  /// Copies `bytes`, a multiple of 16, to shared memory; the barrier counts them.
  __device__ __forceinline__ void copy(void* to, const void* from, int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(address)
                 : "memory");
#endif
  }
};

}  // namespace trifuse::gpu
