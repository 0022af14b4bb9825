#pragma once

#include <cuda_pipeline_primitives.h>

#include "cxx/cuda/kernel/barriers.cuh"
#include "cxx/cuda/kernel/chunk_walk.cuh"
#include "cxx/cuda/kernel/item_data.cuh"
#include "cxx/cuda/schedule/configuration.hpp"

/// How chunks come into shared memory and items to a block. Either way the warps that multiply see the same:
/// `next_item` and, inside a phase, one stage after the other.
namespace trifuse::gpu {

inline constexpr std::uint32_t no_item = ~0u;

/// Barriers and items of a block; the ring of items lets others begin the next one early.
template <SpinFormulation formulation, typename Config>
struct BulkShared {
  static constexpr int items_count = 2;
  alignas(8) std::uint64_t full[Config::stages], empty[Config::stages], item_full[items_count], item_empty[items_count],
      pairs_full, pairs_empty;
  ItemData<formulation, Config> items[items_count];
};

template <SpinFormulation formulation, typename Config, Staging = Config::staging>
class Stages;

/// Besides those that multiply there are two warps: the producer runs ahead of them by up to `stages` chunks, across
/// phases, targets and items; the keeper gathers the next item, and brings the pair blocks for the energies.
template <SpinFormulation formulation, typename Config>
class Stages<formulation, Config, Staging::bulk> {
  using Precision = typename Config::Precision;
  using Data = ItemData<formulation, Config>;

 public:
  using Shared = BulkShared<formulation, Config>;

  __device__ __forceinline__ Stages(char* storage, Shared& shared) : storage_(storage), shared_(shared) {}

  static __device__ __forceinline__ void initialise(char* storage, Shared& shared) {
    if constexpr (formulation == SpinFormulation::spin_orbital) {
      // Places beyond the end of a tile are not filled, and what stands there is multiplied by zero.
      for (int n = thread_number(); n < Config::pair_bytes / 8; n += Config::threads) {
        reinterpret_cast<double*>(storage + pairs_at)[n] = 0.0;
      }
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    if (threadIdx.x == 0) {
      for (int s = 0; s < Config::stages; ++s) {
        at(shared.full[s]).initialise(1);
        at(shared.empty[s]).initialise(Config::warps * 32);
      }
      for (int s = 0; s < Shared::items_count; ++s) {
        at(shared.item_full[s]).initialise(32);
        at(shared.item_empty[s]).initialise((1 + Config::warps) * 32);  // the producer, too
      }
      at(shared.pairs_full).initialise(1);
      at(shared.pairs_empty).initialise(Config::warps * 32);
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.mbarrier_init.release.cluster;");
#endif
    }
    __syncthreads();
  }

  /// For the keeper: takes the next item from the launch's counter and passes it on.
  __device__ __forceinline__ const Data& fetch_item(const Work& work) {
    const int lane = lane_number();
    Data& data = shared_.items[slot()];
    at(shared_.item_empty[slot()]).wait(round() ^ 1);
    std::uint32_t number = 0;
    if (lane == 0) number = atomicAdd(work.next_item, 1);
    number = __shfl_sync(~0u, number, 0);
    if (number < work.items_count) {
      gather_item(work, number, data, lane, 32, [] { __syncwarp(); });
    } else {
      if (lane == 0) data.number = no_item;
      __syncwarp();
    }
    at(shared_.item_full[slot()]).arrive();
    ++items_;
    return data;
  }

  /// For the keeper: brings the pair blocks of a set of disconnected factors when those before are used.
  __device__ __forceinline__ void bring_pairs(const Data& data, int set) {
    const int lane = lane_number();
    const Barrier full = at(shared_.pairs_full);
    at(shared_.pairs_empty).wait((pairs_ & 1) ^ 1);
    ++pairs_;
    if (lane == 0) {
      int bytes = 0;
#pragma unroll 1
      for (int x = 0; x < 3; ++x) {
        const PairPart<Config> part(data, x);
        bytes += 3 * part.rows * part.row_bytes;
      }
      full.arrive_expecting(bytes);
    }
    __syncwarp();
#pragma unroll 1
    for (int x = 0; x < 3; ++x) {
      const PairPart<Config> part(data, x);
      const double* const* blocks = data.pairs + set * spin_orbital_pairs + x * 3;
#pragma unroll 1
      for (int n = lane; n < 3 * part.rows; n += 32) {
        const int y = n / part.rows, row = n % part.rows;
        full.copy(storage_ + pairs_at + part.place + y * part.y_place + row * part.row_place,
                  part.row(data, blocks[y], y, row), part.row_bytes);
      }
    }
  }

  /// For the producer: brings all chunks of a phase.
  __device__ __forceinline__ void produce(const Data& data, const Phase& phase, int number) {
    const int lane = lane_number();
    const int inner_chunks = (phase.steps + Precision::chunk_steps - 1) / Precision::chunk_steps;
    if (inner_chunks == 0) return;
    const PhaseSource<Config> source(data.task, phase, data.item, number);
    const int bytes = source.a_bytes + source.rows * source.row_bytes;
    const bool has_row = lane < source.rows;  // each lane brings a row
    const char* a = source.a;
    const char* b = source.b + lane * source.b_row;
    const int to_row = source.b_place + lane * source.row_place;
#pragma unroll 1
    for (int n = 0; n < inner_chunks; ++n) {
      const unsigned stage = chunks_ % Config::stages;
      char* to = storage_ + stage * Config::stage_bytes;
      const Barrier full = at(shared_.full[stage]);
      at(shared_.empty[stage]).wait((chunks_ / Config::stages & 1) ^ 1);
      if (lane == 0) {
        full.arrive_expecting(bytes);
        full.copy(to, a, source.a_bytes);
      }
      __syncwarp();
      if (has_row) full.copy(to + to_row, b, source.row_bytes);
      a += source.a_step;
      b += source.b_step;
      ++chunks_;
    }
  }

  /// For the others: the next item, until it is released.
  __device__ __forceinline__ const Data& next_item(const Work&) {
    at(shared_.item_full[slot()]).wait(round());
    return item();
  }
  __device__ __forceinline__ void release_item() {
    at(shared_.item_empty[slot()]).arrive();
    ++items_;
  }
  /// The item at hand, for those who do not want to remember where it is.
  __device__ __forceinline__ const Data& item() const {
    return shared_.items[slot()];
  }

  /// For the multiplying warps: the pair blocks of the next set, see PairPart, until they are released.
  __device__ __forceinline__ const char* acquire_pairs() {
    at(shared_.pairs_full).wait(pairs_ & 1);
    ++pairs_;
    return storage_ + pairs_at;
  }
  __device__ __forceinline__ void release_pairs() {
    at(shared_.pairs_empty).arrive();
  }

  /// Calls `use(stage, n)` with every chunk of a phase.
  template <int number, typename Use>
  __device__ __forceinline__ void for_each_chunk(const Phase&, int inner_chunks, Use use) {
#pragma unroll 1
    for (int n = 0; n < inner_chunks; ++n) {
      const unsigned stage = chunks_ % Config::stages;
      at(shared_.full[stage]).wait(chunks_ / Config::stages & 1);
      use(storage_ + stage * Config::stage_bytes, n);
      at(shared_.empty[chunks_ % Config::stages]).arrive();
      ++chunks_;
    }
  }

 private:
  static constexpr int pairs_at = Config::stages * Config::stage_bytes;

  static __device__ __forceinline__ Barrier at(std::uint64_t& barrier) {
    return {shared_address(&barrier)};
  }

  __device__ __forceinline__ unsigned slot() const {
    return items_ % Shared::items_count;
  }
  __device__ __forceinline__ unsigned round() const {
    return items_ / Shared::items_count & 1;
  }
  __device__ __forceinline__ unsigned stage() const {
    return chunks_ % Config::stages;
  }
  __device__ __forceinline__ unsigned parity() const {
    return chunks_ / Config::stages & 1;
  }

  char* storage_;
  Shared& shared_;
  unsigned chunks_ = 0, items_ = 0, pairs_ = 0;  ///< passed so far
};

/// All warps copy their part of each chunk, `stages - 1` chunks ahead inside a phase.
template <SpinFormulation formulation, typename Config>
class Stages<formulation, Config, Staging::cooperative> {
  using Precision = typename Config::Precision;
  using Data = ItemData<formulation, Config>;

 public:
  struct Shared {
    std::uint32_t next;
    Data item;
  };

  __device__ __forceinline__ Stages(char* storage, Shared& shared) : storage_(storage), shared_(shared) {}
  static __device__ __forceinline__ void initialise(char*, Shared&) {}

  __device__ __forceinline__ const Data& next_item(const Work& work) {
    const auto thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread == 0) shared_.next = atomicAdd(work.next_item, 1);
    __syncthreads();
    const std::uint32_t number = shared_.next;
    if (number < work.items_count) {
      gather_item(work, number, shared_.item, thread, Config::threads, [] { __syncthreads(); });
    } else {
      if (thread == 0) shared_.item.number = no_item;
      __syncthreads();
    }
    return shared_.item;
  }
  __device__ __forceinline__ void release_item() {}

  /// Pair blocks are read from device memory.
  __device__ __forceinline__ const char* acquire_pairs() { return nullptr; }
  __device__ __forceinline__ void release_pairs() {}
  __device__ __forceinline__ const Data& item() const { return shared_.item; }

  template <int number, typename Use>
  __device__ __forceinline__ void for_each_chunk(const Phase& phase, int inner_chunks, Use use) {
    if (inner_chunks == 0) return;
    const PhaseSource<Config> source(shared_.item.task, phase, shared_.item.item, number);
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
