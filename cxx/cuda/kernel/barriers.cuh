#pragma once

#include <cstdint>

/// Barriers in shared memory, and bulk copies that complete on them. They need compute capability 9.0.
namespace trifuse::gpu {

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// An mbarrier. Its phase completes when the number of threads given to initialise() have arrived, and all bytes that
/// they expect have come. `address`: its address in shared memory.
struct Barrier {
  unsigned address;

  /// One thread must call it once. `arrivals`: number of threads that must arrive in each phase.
  __device__ __forceinline__ void initialise(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals));
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  }
  /// Lets one lane arrive for all lanes of the warp. All lanes must call it together.
  __device__ __forceinline__ void arrive_as_warp() const {
    __syncwarp();
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n"
        ".reg .pred elected;\n"
        "elect.sync _|elected, 0xffffffff;\n"
        "@elected mbarrier.arrive.shared::cta.b64 _, [%0];\n"
        "}" ::"r"(address)
        : "memory");
#endif
  }
  /// Arrives, and makes the phase wait for `bytes` of bulk copies.
  __device__ __forceinline__ void arrive_expecting(int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
#endif
  }
  /// Waits until the phase of this parity, 0 or 1, is complete. Phase n has parity n % 2.
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
  /// Starts a copy of 16 bytes from global to shared memory. arrive_after_copies() waits for it.
  static __device__ __forceinline__ void copy_16(unsigned to, const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#endif
  }
  /// Lets this thread arrive as soon as all its copies by copy_16() are complete.
  __device__ __forceinline__ void arrive_after_copies() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address) : "memory");
#endif
  }
  /// Starts a copy of `bytes`, a multiple of 16, from global to shared memory. The barrier counts the bytes.
  __device__ __forceinline__ void copy(void* to, const void* from, int bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(address)
                 : "memory");
#endif
  }
};

}
