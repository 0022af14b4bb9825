#pragma once

#include <cuda_pipeline_primitives.h>

#include "cxx/cuda/barriers.cuh"
#include "cxx/cuda/chunk_walk.cuh"
#include "cxx/cuda/configuration.hpp"

/// How chunks come into shared memory and items to a block. Either way the warps that multiply see the same: `next_item`
/// and, inside a phase, one stage after the other.
namespace trifuse::gpu {

inline constexpr std::uint32_t no_item = ~0u;

/// Barriers and item numbers of a block; the ring of items lets the producer begin the next item early.
template <int stages>
struct BulkShared {
  alignas(8) std::uint64_t full[stages], empty[stages], item_full[2], item_empty[2];
  std::uint32_t item[2];
};

template <typename Config, Staging = Config::staging>
class Stages;

/// A producer warp runs ahead of the multiplying warps by up to `stages` chunks, across phases, targets and items.
template <typename Config>
class Stages<Config, Staging::bulk> {
  using Precision = typename Config::Precision;

 public:
  using Shared = BulkShared<Config::stages>;

  __device__ __forceinline__ Stages(char* storage, Shared& shared) : storage_(storage), shared_(shared) {}

  static __device__ __forceinline__ void initialise(Shared& shared) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < Config::stages; ++s) {
        at(shared.full[s]).initialise(1);
        at(shared.empty[s]).initialise(Config::warps);
      }
      for (int s = 0; s < 2; ++s) {
        at(shared.item_full[s]).initialise(1);
        at(shared.item_empty[s]).initialise(Config::warps);
      }
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.mbarrier_init.release.cluster;");
#endif
    }
    __syncthreads();
  }

  /// For the producer: takes the next item from the launch's counter and passes it on.
  __device__ __forceinline__ std::uint32_t fetch_item(const Work& work, int lane) {
    const int slot = items_ % 2;
    at(shared_.item_empty[slot]).wait((items_ / 2 & 1) ^ 1);
    std::uint32_t item = 0;
    if (lane == 0) {
      item = atomicAdd(work.next_item, 1);
      if (item >= work.items_count) item = no_item;
      shared_.item[slot] = item;
      at(shared_.item_full[slot]).arrive();
    }
    ++items_;
    return __shfl_sync(~0u, item, 0);
  }

  /// For the producer: brings all chunks of a phase.
  __device__ __forceinline__ void produce(const TaskData& task, const Phase& phase, const Item& item, int number,
                                          int lane) {
    const int inner_chunks = (phase.steps + Precision::chunk_steps - 1) / Precision::chunk_steps;
    if (inner_chunks == 0) return;
    const PhaseSource<Config> source(task, phase, item, number);
    const int bytes = source.a_bytes + source.rows * source.row_bytes;
    const bool has_row = lane < source.rows;  // each lane brings a row
    const char* a = source.a;
    const char* b = source.b + lane * source.b_row;
    const int to_row = source.b_place + lane * source.row_place;
#pragma unroll 1
    for (int n = 0; n < inner_chunks; ++n) {
      char* to = storage_ + stage_ * Config::stage_bytes;
      const Barrier full = at(shared_.full[stage_]);
      at(shared_.empty[stage_]).wait(parity_ ^ 1);
      if (lane == 0) {
        full.arrive_expecting(bytes);
        full.copy(to, a, source.a_bytes);
      }
      __syncwarp();
      if (has_row) full.copy(to + to_row, b, source.row_bytes);
      a += source.a_step;
      b += source.b_step;
      next_stage();
    }
  }

  /// For the multiplying warps.
  __device__ __forceinline__ std::uint32_t next_item(const Work&, int lane) {
    const int slot = items_ % 2;
    at(shared_.item_full[slot]).wait(items_ / 2 & 1);
    const std::uint32_t item = shared_.item[slot];
    __syncwarp();
    if (lane == 0) at(shared_.item_empty[slot]).arrive();
    ++items_;
    return item;
  }

  /// Calls `use(stage, n)` with every chunk of a phase.
  template <int number, typename Use>
  __device__ __forceinline__ void for_each_chunk(const Work&, std::uint32_t, const Phase&, int inner_chunks, int lane,
                                                 Use use) {
#pragma unroll 1
    for (int n = 0; n < inner_chunks; ++n) {
      at(shared_.full[stage_]).wait(parity_);
      use(storage_ + stage_ * Config::stage_bytes, n);
      __syncwarp();
      if (lane == 0) at(shared_.empty[stage_]).arrive();
      next_stage();
    }
  }

 private:
  static __device__ __forceinline__ Barrier at(std::uint64_t& barrier) { return {shared_address(&barrier)}; }

  __device__ __forceinline__ void next_stage() {
    if (++stage_ == Config::stages) {
      stage_ = 0;
      parity_ ^= 1;
    }
  }

  char* storage_;
  Shared& shared_;
  unsigned stage_ = 0, parity_ = 0, items_ = 0;
};

/// All warps copy their part of each chunk, `stages - 1` chunks ahead inside a phase.
template <typename Config>
class Stages<Config, Staging::cooperative> {
  using Precision = typename Config::Precision;

 public:
  struct Shared {
    std::uint32_t item;
  };

  __device__ __forceinline__ Stages(char* storage, Shared& shared) : storage_(storage), shared_(shared) {}
  static __device__ __forceinline__ void initialise(Shared&) {}

  __device__ __forceinline__ std::uint32_t next_item(const Work& work, int) {
    __syncthreads();
    if (threadIdx.x == 0) {
      const std::uint32_t item = atomicAdd(work.next_item, 1);
      shared_.item = item < work.items_count ? item : no_item;
    }
    __syncthreads();
    return shared_.item;
  }

  template <int number, typename Use>
  __device__ __forceinline__ void for_each_chunk(const Work& work, std::uint32_t item_number, const Phase& phase,
                                                 int inner_chunks, int, Use use) {
    if (inner_chunks == 0) return;
    const Item& item = work.items[item_number];
    const PhaseSource<Config> source(work.tasks[item.task], phase, item, number);
    constexpr int ahead = Config::stages - 1;
    const auto bring = [&](int n) {
      if (n < inner_chunks) copy(source, n, storage_ + n % Config::stages * Config::stage_bytes);
      __pipeline_commit();
    };
    __syncthreads();  // the phase before may still be read
    for (int n = 0; n < ahead; ++n) bring(n);
#pragma unroll 1
    for (int n = 0; n < inner_chunks; ++n) {
      if constexpr (ahead == 0) {
        if (n > 0) __syncthreads();
        bring(n);
      }
      __pipeline_wait_prior(ahead > 0 ? ahead - 1 : 0);
      __syncthreads();
      // Everybody is done with chunk n - 1, whose stage this is.
      if constexpr (ahead > 0) bring(n + ahead);
      use(storage_ + n % Config::stages * Config::stage_bytes, n);
    }
  }

 private:
  __device__ __forceinline__ void copy(const PhaseSource<Config>& source, int n, char* to) const {
    const char* a = source.a + n * source.a_step;
    const char* b = source.b + n * source.b_step;
    for (int at = static_cast<int>(threadIdx.x) * 16; at < source.a_bytes; at += Config::threads * 16) {
      __pipeline_memcpy_async(to + at, a + at, 16);
    }
    for (int row = 0; row < source.rows; ++row) {
      char* row_to = to + source.b_place + row * source.row_place;
      for (int at = static_cast<int>(threadIdx.x) * 16; at < source.row_bytes; at += Config::threads * 16) {
        __pipeline_memcpy_async(row_to + at, b + row * source.b_row + at, 16);
      }
    }
  }

  char* storage_;
  Shared& shared_;
};

}  // namespace trifuse::gpu
