#pragma once

#include <cuda_pipeline_primitives.h>

#include <type_traits>

#include "cxx/cuda/kernel/barriers.cuh"
#include "cxx/cuda/kernel/cta_tile_data.cuh"
#include "cxx/cuda/kernel/product_source.cuh"
#include "cxx/cuda/schedule/configuration.hpp"

/// How operands come to shared memory, and CTA tiles to a CTA. The math warps use both kinds of staging in the same
/// way: next_cta_tile(), then for_each_k_tile() or a similar function for each product, then the epilogue, then
/// release_cta_tile().
namespace trifuse::gpu {

inline constexpr std::uint32_t no_cta_tile = ~0u;

/// Warps of their own that load the vvoo blocks, so that the scheduler can take the next CTA tile meanwhile. The
/// kernels in double precision take so long for a CTA tile that the scheduler can do both.
template <typename Config>
inline constexpr int vvoo_warps = Config::group_warps > 1 ? 2 : 0;

/// Barriers and CTA tiles in shared memory. The CTA tiles are a ring, so that the producer and the scheduler can begin
/// the next one early.
template <SpinFormulation formulation, typename Config>
struct BulkShared {
  static constexpr int ring_slots = Config::group_warps > 1 ? 3 : 2;
  RingBarriers<Config::stages> k_tile_barriers;
  RingBarriers<ring_slots> cta_tile_barriers;
  RingBarriers<Config::vvoo_slots> vvoo_barriers;
  CtaTileData<formulation, Config> cta_tiles[ring_slots];
};

template <SpinFormulation formulation, typename Config, Staging = Config::staging>
class Stages;

/// Bulk staging has two to four warps besides the math warps. The producer loads operands, up to `stages` k-tiles
/// ahead, across products, targets and CTA tiles. The scheduler gets the next CTA tile. It, or warps of their own (see
/// vvoo_warps), load the vvoo blocks of the epilogue.
template <SpinFormulation formulation, typename Config>
class Stages<formulation, Config, Staging::bulk> {
  using Precision = typename Config::Precision;
  using Data = CtaTileData<formulation, Config>;
  using KTiles = Ring<Config::stages>;
  using CtaTiles = Ring<BulkShared<formulation, Config>::ring_slots>;
  using Vvoo = Ring<Config::vvoo_slots>;

 public:
  using Shared = BulkShared<formulation, Config>;

  __device__ __forceinline__ Stages(char* storage, Shared& shared)
      : storage_(storage),
        shared_(shared),
        k_tiles_(shared.k_tile_barriers),
        cta_tiles_(shared.cta_tile_barriers),
        vvoo_(shared.vvoo_barriers) {}

  static __device__ __forceinline__ void initialise(char* storage, Shared& shared) {
    if constexpr (formulation == SpinFormulation::spin_orbital && !Config::converts_vvoo) {
      // Memory beyond the end of an orbital tile is never filled. It must hold numbers, because they are multiplied
      // by 0.
      for (int n = thread_number(); n < Config::vvoo_bytes / 8; n += Config::threads) {
        reinterpret_cast<double*>(storage + vvoo_at)[n] = 0.0;
      }
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
    if (threadIdx.x == 0) {
      KTiles::initialise(shared.k_tile_barriers, Config::group_warps > 1 ? 1 + 32 : 1, Config::warps * releasing_lanes);
      // All warps but the scheduler read CTA tiles.
      CtaTiles::initialise(shared.cta_tile_barriers, 32, (1 + vvoo_warps<Config> + Config::warps) * 32);
      Vvoo::initialise(shared.vvoo_barriers, Config::converts_vvoo ? 32 * vvoo_warps<Config> : 1, Config::warps * 32);
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.mbarrier_init.release.cluster;");
#endif
    }
    __syncthreads();
  }

  /// For the scheduler: takes the next CTA tile and makes it known to the other warps. The first CTA tile of a CTA has
  /// the number of the CTA. The launch's counter gives the others.
  __device__ __forceinline__ const Data& fetch_cta_tile(const KernelParameters& parameters) {
    const int lane = lane_number();
    Data& data = shared_.cta_tiles[cta_tiles_.slot()];
    cta_tiles_.acquire_empty();
    std::uint32_t number = 0;
    if (lane == 0) {
      number = cta_tiles_.is_first() ? blockIdx.x : gridDim.x + atomicAdd(parameters.next_cta_tile, 1);
    }
    number = __shfl_sync(~0u, number, 0);
    if (number < parameters.cta_tile_count) {
      gather_cta_tile_data(parameters, number, data, lane, 32, [] { __syncwarp(); });
    } else {
      if (lane == 0) data.number = no_cta_tile;
      __syncwarp();
    }
    cta_tiles_.full().arrive();
    cta_tiles_.advance();
    return data;
  }

  /// For the warps that load vvoo blocks: loads those of a disconnected set as soon as the math warps have
  /// released earlier blocks.
  __device__ __forceinline__ void load_vvoo(const Data& data, int set) {
    if constexpr (Config::converts_vvoo) {
      convert_vvoo(data, set);
    } else {
      copy_vvoo(data, set);
    }
  }

  /// For the producer: loads all k-tiles of a product.
  __device__ __forceinline__ void load_product(const Data& data, const KernelProduct& product,
                                               const ProductAxes& axes) {
    const int lane = lane_number();
    const int k_tiles = (product.k_steps + Precision::k_tile_steps - 1) / Precision::k_tile_steps;
    if (k_tiles == 0) return;
    if constexpr (Config::group_warps > 1) {
      load_units(UnitSource<Config>(data.groups.units, product, k_tiles, axes, lane), k_tiles, lane);
      return;
    }
    const ProductSource<Config> source(data.task, product, data.cta_tile, axes);
    const int bytes = source.a_bytes + source.rows * source.row_bytes;
    const bool has_row = lane < source.rows;  // each lane copies a row
    const char* a = source.a;
    const char* b = source.b + lane * source.b_row;
    const int row_offset = source.b_offset + lane * source.row_stride;
#pragma unroll 1
    for (int n = 0; n < k_tiles; ++n) {
      char* to = storage_ + k_tiles_.slot() * Config::stage_bytes;
      const Barrier full = k_tiles_.full();
      k_tiles_.acquire_empty();
      if (lane == 0) {
        full.arrive_expecting(bytes);
        full.copy(to, a, source.a_bytes);
      }
      __syncwarp();
      if (has_row) full.copy(to + row_offset, b, source.row_bytes);
      a += source.a_step;
      b += source.b_step;
      k_tiles_.advance();
    }
  }

  /// For all warps but the scheduler: waits for the next CTA tile. It stays valid until release_cta_tile().
  __device__ __forceinline__ const Data& next_cta_tile(const KernelParameters&) {
    cta_tiles_.acquire_full();
    return tile_data();
  }
  __device__ __forceinline__ void release_cta_tile() {
    cta_tiles_.empty().arrive();
    cta_tiles_.advance();
  }
  /// The current CTA tile. Calling this again costs less than keeping the reference in a register.
  __device__ __forceinline__ const Data& tile_data() const {
    return shared_.cta_tiles[cta_tiles_.slot()];
  }

  /// For the math warps: waits for the vvoo blocks of the next set, see VvooPart and FloatVvoo. They stay valid until
  /// release_vvoo().
  __device__ __forceinline__ const char* acquire_vvoo() {
    vvoo_.acquire_full();
    const char* const blocks = storage_ + vvoo_at + vvoo_.slot() * Config::read_vvoo_bytes;
    if constexpr (counts_acquired) vvoo_.advance();
    return blocks;
  }
  __device__ __forceinline__ void release_vvoo() {
    vvoo_.empty().arrive();
    if constexpr (!counts_acquired) vvoo_.advance();
  }

  /// For the math warps: calls `use(stage, n)` for every k-tile n of a product. `stage`: its begin in shared memory.
  template <typename Use>
  __device__ __forceinline__ void for_each_k_tile(const KernelProduct&, const ProductAxes&, int k_tiles, Use use) {
#pragma unroll 1
    for (int n = 0; n < k_tiles; ++n) {
      k_tiles_.acquire_full();
      use(storage_ + k_tiles_.slot() * Config::stage_bytes, n);
      release_k_tile();
    }
  }

  /// For math warps that multiply together: tells the compiler that all lanes of a warp have passed equally many
  /// k-tiles.
  __device__ __forceinline__ void count_k_tiles_uniformly() {
    k_tiles_.count_uniformly([](int number) { return same_in_warp(number); });
  }
  /// For math warps that multiply together: waits for the k-tile that is `ahead` after the current one, and returns its
  /// stage, an address in shared memory.
  __device__ __forceinline__ unsigned wait_for_k_tile(unsigned ahead) const {
    k_tiles_.acquire_full(ahead);
    return shared_address(storage_) + k_tiles_.slot(ahead) * Config::stage_bytes;
  }

  /// For the math warps: gives the stage of the current k-tile back to the producer.
  __device__ __forceinline__ void release_k_tile() {
    const Barrier empty = k_tiles_.empty();
    if constexpr (releasing_lanes == 1) {
      empty.arrive_as_warp();
    } else {
      empty.arrive();
    }
    k_tiles_.advance();
  }

  /// The scales of three units. One lane has them, and the other lanes have zeros.
  struct ScalesInOneLane {
    float of_first, of_second, of_third;
    int lane;  ///< number of the lane
  };
  /// For math warps that multiply together: reads scales of units whose k-tiles are in this stage. The lane that reads
  /// is the one that gives the stage back, see Barrier::arrive_as_warp(). So compute-sanitizer can follow the order.
  static __device__ __forceinline__ ScalesInOneLane scales_of_units(unsigned stage, int first, int second, int third) {
    ScalesInOneLane scales{};
#if __CUDA_ARCH__ >= 900
    const auto at = [&](int unit) { return stage + scales_at + unit * scale_bytes; };
    asm volatile(
        "{\n"
        ".reg .pred elected;\n"
        "elect.sync %3|elected, 0xffffffff;\n"
        "@elected ld.shared.f32 %0, [%4];\n"
        "@elected ld.shared.f32 %1, [%5];\n"
        "@elected ld.shared.f32 %2, [%6];\n"
        "}"
        : "+f"(scales.of_first), "+f"(scales.of_second), "+f"(scales.of_third), "=r"(scales.lane)
        : "r"(at(first)), "r"(at(second)), "r"(at(third)));
#endif
    return scales;
  }

 private:
  /// Lanes of a math warp that arrive when it has read a k-tile. Split products take a third of the time, and 32
  /// arrivals of each warp would delay the loads of operands.
  static constexpr int releasing_lanes = Precision::scale_elements > 0 ? 1 : 32;

  /// Loads the k-tiles of the units of a product, each lane one unit. The scales lie behind the numbers of all units.
  __device__ __forceinline__ void load_units(const UnitSource<Config>& source, int k_tiles, int lane) {
    const bool has_unit = source.is_there;
    const int bytes = __popc(__ballot_sync(~0u, has_unit)) * Precision::data_bytes;
    const char* from = source.from;
#pragma unroll 1
    for (int n = 0; n < k_tiles; ++n) {
      char* to = storage_ + k_tiles_.slot() * Config::stage_bytes;
      const Barrier full = k_tiles_.full();
      k_tiles_.acquire_empty();
      if (lane == 0) full.arrive_expecting(bytes);
      __syncwarp();
      if (has_unit) {
        full.copy(to + lane * Precision::data_bytes, from, Precision::data_bytes);
        Barrier::copy_16(shared_address(to) + scales_at + lane * scale_bytes, from + Precision::data_bytes);
      }
      full.arrive_after_copies();
      from += source.step;
      k_tiles_.advance();
    }
  }
  /// True if the math warps count vvoo blocks when they acquire them. With several slots they count when they release
  /// them, because they must know the slot.
  static constexpr bool counts_acquired = Config::vvoo_slots == 1;
  static constexpr int scale_bytes = 16;  ///< of a unit in a stage
  /// Bytes from the begin of a stage to the scales, if warps multiply together.
  static constexpr int scales_at = Config::stage_bytes - 128;

  /// load_vvoo() for blocks that are read as doubles. They have one slot.
  __device__ __forceinline__ void copy_vvoo(const Data& data, int set) {
    const int lane = lane_number();
    const Barrier full = vvoo_.full();
    vvoo_.acquire_empty();
    vvoo_.advance();
    if (lane == 0) {
      int bytes = 0;
#pragma unroll 1
      for (int x = 0; x < 3; ++x) {
        const VvooPart<Config> part(data, x);
        bytes += 3 * part.rows * part.row_bytes;
      }
      full.arrive_expecting(bytes);
    }
    __syncwarp();
#pragma unroll 1
    for (int x = 0; x < 3; ++x) {
      const VvooPart<Config> part(data, x);
      const double* const* blocks = data.vvoo + set * spin_orbital_vvoo_blocks + x * 3;
#pragma unroll 1
      for (int n = lane; n < 3 * part.rows; n += 32) {
        const int y = n / part.rows, row = n % part.rows;
        full.copy(storage_ + vvoo_at + part.offset + y * part.y_stride + row * part.row_stride,
                  part.row(data, blocks[y], y, row), part.row_bytes);
      }
    }
  }

  /// load_vvoo() for blocks that are read as floats.
  __device__ __forceinline__ void convert_vvoo(const Data& data, int set) {
    vvoo_.acquire_empty();
    char* const to = storage_ + vvoo_at + vvoo_.slot() * Config::read_vvoo_bytes;
    constexpr int threads = 32 * vvoo_warps<Config>;
    const int thread = thread_number() % threads;
    FloatVvoo<Config, 0>::template load<threads>(data, set, to, thread);
    FloatVvoo<Config, 1>::template load<threads>(data, set, to, thread);
    FloatVvoo<Config, 2>::template load<threads>(data, set, to, thread);
    vvoo_.full().arrive();
    vvoo_.advance();
  }

  static constexpr int vvoo_at = Config::stages * Config::stage_bytes;

  char* storage_;
  Shared& shared_;
  KTiles k_tiles_;
  CtaTiles cta_tiles_;
  Vvoo vvoo_;
};

/// Cooperative staging: all warps are math warps, and each copies a part of each k-tile, `stages - 1` k-tiles ahead
/// inside a product.
template <SpinFormulation formulation, typename Config>
class Stages<formulation, Config, Staging::cooperative> {
  using Precision = typename Config::Precision;
  using Data = CtaTileData<formulation, Config>;

 public:
  struct Shared {
    std::uint32_t next;
    Data cta_tile;
  };

  __device__ __forceinline__ Stages(char* storage, Shared& shared) : storage_(storage), shared_(shared) {}
  static __device__ __forceinline__ void initialise(char*, Shared&) {}

  __device__ __forceinline__ const Data& next_cta_tile(const KernelParameters& parameters) {
    const auto thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread == 0) shared_.next = atomicAdd(parameters.next_cta_tile, 1);
    __syncthreads();
    const std::uint32_t number = shared_.next;
    if (number < parameters.cta_tile_count) {
      gather_cta_tile_data(parameters, number, shared_.cta_tile, thread, Config::threads, [] { __syncthreads(); });
    } else {
      if (thread == 0) shared_.cta_tile.number = no_cta_tile;
      __syncthreads();
    }
    return shared_.cta_tile;
  }
  __device__ __forceinline__ void release_cta_tile() {}

  /// The epilogue reads the vvoo blocks from device memory.
  __device__ __forceinline__ const char* acquire_vvoo() { return nullptr; }
  __device__ __forceinline__ void release_vvoo() {}
  __device__ __forceinline__ const Data& tile_data() const { return shared_.cta_tile; }

  template <typename Use>
  __device__ __forceinline__ void for_each_k_tile(const KernelProduct& product, const ProductAxes& axes, int k_tiles,
                                                  Use use) {
    if (k_tiles == 0) return;
    const ProductSource<Config> source(shared_.cta_tile.task, product, shared_.cta_tile.cta_tile, axes);
    constexpr int ahead = Config::stages - 1;
    const auto load = [&](int n) {
      if (n < k_tiles) copy(source, n, storage_ + n % Config::stages * Config::stage_bytes);
      __pipeline_commit();
    };
    __syncthreads();  // other warps may still read the operands of the product before
    for (int n = 0; n < ahead; ++n) load(n);
#pragma unroll 1
    for (int n = 0; n < k_tiles; ++n) {
      if constexpr (ahead == 0) {
        if (n > 0) __syncthreads();
        load(n);
      }
      __pipeline_wait_prior(ahead > 0 ? ahead - 1 : 0);
      __syncthreads();
      // All warps are done with k-tile n - 1, so its stage is free.
      if constexpr (ahead > 0) load(n + ahead);
      use(storage_ + n % Config::stages * Config::stage_bytes, n);
    }
  }

  /// As with bulk staging. But warps wait for k-tiles together, so `begin(stage)` is called for each k-tile, and
  /// `next()` returns the current k-tile.
  template <typename Begin, typename Use, typename Finish>
  __device__ __forceinline__ void for_each_k_tile_group(const KernelProduct& product, const ProductAxes& axes,
                                                        int k_steps, Begin begin, Use use, Finish finish) {
    const int k_tiles = (k_steps + 1) / 2;
    for_each_k_tile(product, axes, k_tiles, [&](const char* at, int n) {
      const unsigned stage = shared_address(at);
      begin(stage);
      const auto next = [stage] { return stage; };
      constexpr std::true_type yes;
      constexpr std::false_type no;
      if (k_steps - 2 * n == 1) {
        n % 2 == 0 ? use(yes, no, stage, next) : use(no, no, stage, next);
      } else {
        n % 2 == 0 ? use(yes, yes, stage, next) : use(no, yes, stage, next);
      }
      if (n % 2 == 1 || n + 1 == k_tiles) finish(stage);
    });
  }

 private:
  __device__ __forceinline__ void copy(const ProductSource<Config>& source, int n, char* to) const {
    const char* a = source.a + n * source.a_step;
    const char* b = source.b + n * source.b_step;
    for (int at = static_cast<int>(threadIdx.x) * 16; at < source.a_bytes; at += Config::threads * 16) {
      __pipeline_memcpy_async(to + at, a + at, 16);
    }
    for (int row = 0; row < source.rows; ++row) {
      char* row_to = to + source.b_offset + row * source.row_stride;
      for (int at = static_cast<int>(threadIdx.x) * 16; at < source.row_bytes; at += Config::threads * 16) {
        __pipeline_memcpy_async(row_to + at, b + row * source.b_row + at, 16);
      }
    }
  }

  char* storage_;
  Shared& shared_;
};

}
