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

/// The barriers of a ring, in shared memory: `full` of a slot completes when it has been filled, `empty` when it has
/// been read.
template <int slots>
struct RingBarriers {
  alignas(8) std::uint64_t full[slots], empty[slots];
};

/// A ring of slots in shared memory, as one thread sees it. Some warps fill the slots, others read them, all in the
/// same order. Every thread counts the slots that it has passed.
///
///     filling    ring.acquire_empty(); ...; ring.full().arrive();    ring.advance();
///     reading    ring.acquire_full();  ...; ring.empty().arrive();   ring.advance();
///
/// Both barriers of a slot complete once in each round, first `full`. So a filler waits for the `empty` of the round
/// before; in round 0 that wait ends at once, because a barrier that has not begun counts as complete for parity 1.
template <int slots>
class Ring {
 public:
  __device__ __forceinline__ explicit Ring(RingBarriers<slots>& barriers) : barriers_(barriers) {}
  /// Once, by one thread. `fillers`, `readers`: numbers of arrivals that complete the two barriers of a slot.
  static __device__ __forceinline__ void initialise(RingBarriers<slots>& barriers, int fillers, int readers) {
    for (int s = 0; s < slots; ++s) {
      at(barriers.full[s]).initialise(fillers);
      at(barriers.empty[s]).initialise(readers);
    }
  }

  /// Number of the current slot, and of the one that is `ahead` after it.
  __device__ __forceinline__ unsigned slot(unsigned ahead = 0) const { return (passed_ + ahead) % slots; }
  __device__ __forceinline__ Barrier full(unsigned ahead = 0) const { return at(barriers_.full[slot(ahead)]); }
  __device__ __forceinline__ Barrier empty() const { return at(barriers_.empty[slot()]); }
  __device__ __forceinline__ void acquire_full(unsigned ahead = 0) const { full(ahead).wait(round(ahead)); }
  __device__ __forceinline__ void acquire_empty() const { empty().wait(round(0) ^ 1); }
  __device__ __forceinline__ void advance() { ++passed_; }
  /// True before the first call of advance().
  __device__ __forceinline__ bool is_first() const { return passed_ == 0; }
  /// Tells the compiler that all lanes of the warp have passed equally many slots; `same`: same_in_warp().
  template <typename Same>
  __device__ __forceinline__ void count_uniformly(Same same) {
    passed_ = static_cast<unsigned>(same(static_cast<int>(passed_)));
  }

 private:
  static __device__ __forceinline__ Barrier at(std::uint64_t& barrier) { return {shared_address(&barrier)}; }
  __device__ __forceinline__ unsigned round(unsigned ahead) const { return (passed_ + ahead) / slots & 1; }

  RingBarriers<slots>& barriers_;
  unsigned passed_ = 0;
};

}
