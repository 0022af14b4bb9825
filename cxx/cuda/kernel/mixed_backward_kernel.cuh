#pragma once

#include "cxx/cuda/kernel/backward_kernel.cuh"
#include "cxx/cuda/kernel/register_multiplications.cuh"
#include "cxx/cuda/schedule/split_half_units.hpp"

/// The backward kernel in mixed precision, see backward_kernel.cuh for the one in double precision. The seeds are
/// floats. Each warp scales its seeds by a power of two that the whole task shares, and splits them into two FP16
/// numbers in registers, from where the instruction wgmma takes them. The panel is SplitHalfTransposed. For compute
/// capability 9.0a.
///
///     for all CTAs of the grid, in parallel
///       for each tile of the CTA                                    C [128 rows, 32 columns]
///         for each chunk of the sum, in the next stage of the ring  A [128, 64] seeds, B [64, 32 columns] panel
///           for both groups of four math warps, in parallel
///             for each of 4 k-steps                                 [64, 32 columns] += A [64, 16] B [16, 32 columns]
///           add the sums of the chunk to the sums of the tile       with the scale of the chunk's unit of the panel
///
/// A k-step is three products of slices: A high times B low, A low times B high, high times high. The matrix units cut
/// off low bits of FP32 sums. So they add up one chunk only; ordinary instructions, which round, add up the chunks.
///
/// A chunk of a left panel has 4 u, 4 w and a group of y; k-steps count w. A chunk of a right panel has 4 p and the
/// groups of h and h'; k-steps count p. Its 64 contracted indices are the lines of a unit, see SplitHalfUnits.
namespace trifuse::gpu {

/// `columns_`: k-tiles of 32 contracted indices x that a CTA tile has.
template <int columns_>
struct MixedBackwardConfig {
  using Precision = SplitHalfTransposed;
  static constexpr int columns = columns_;
  static constexpr int warps = 8, group_warps = 4, copying_warps = 4, threads = (warps + copying_warps) * 32;
  static constexpr int math_registers = 224, other_registers = 56;
  static_assert(warps * 32 * math_registers + 128 * other_registers <= threads * (65536 / threads / 8 * 8));
  static constexpr int steps = 4, side = 4;  ///< k-steps of a chunk; particles of a unit along each position
  static constexpr int atom_bytes = seed_atom * 4, run_atoms = 4, a_bytes = 128 * atom_bytes;
  /// A stage has A, slice 0 and slice 1 of B, and 16 bytes with the scale of each k-tile of B.
  static constexpr int slice_bytes = columns * Precision::slice_bytes, scales_at = a_bytes + 2 * slice_bytes,
                       stage_bytes = scales_at + 256;
  static constexpr int stages = stage_bytes * 4 <= 227 * 1024 - 512 ? 4 : 3;
  static constexpr int fragments = columns * Precision::k_tile_depth / 8;
  using Sums = float[fragments][4];
};

/// A chunk of the sum: the part of it that one stage holds.
struct MixedBackwardChunks {
  int first, second, third;  ///< left: group of y, four of u, four of w; right: group of h, group of h', four of p
  int firsts, seconds, last;

  __device__ __forceinline__ MixedBackwardChunks(const BackwardProduct& p, const BackwardView& v)
      : first(0), second(0), third(0) {
    const auto fours = [](int n) { return (n + 3) / 4; };
    firsts = fours(p.extent[3 + (v.left ? v.y : v.h)]);
    seconds = fours(v.left ? p.extent[v.u] : p.extent[3 + v.h2]);
    last = v.left ? p.extent[v.w] : p.extent[v.x];
  }
  __device__ __forceinline__ bool done() const { return first >= firsts; }
  __device__ __forceinline__ void advance() {
    if (4 * ++third < last) return;
    third = 0;
    if (++second < seconds) return;
    second = 0;
    ++first;
  }
};

/// Atoms from one particle to the next in a stage.
template <bool left, bool c_is_lone>
struct StageStrides {
  static constexpr int p = c_is_lone ? 1
                           : left    ? 16
                                     : 32,
                       u = c_is_lone ? 32
                           : left    ? 4
                                     : 8,
                       w = c_is_lone ? (left ? 8 : 4) : 1;
};

/// What a lane of a copying warp copies for each chunk of a tile. Eight lanes of a warp copy a run of seeds each: four
/// atoms whose particles c follow each other. Others copy a part of a k-tile of the panel: a slice or the scale. The
/// number of the first atom, or of the k-tile, is linear in the three numbers of the chunk.
template <typename Config>
struct ChunkCopy {
  using Precision = typename Config::Precision;
  static constexpr int runs = 32 / Config::copying_warps, parts = 3, scale_bytes = 16;
  static constexpr int unit_bytes = Precision::a_k_tile * static_cast<int>(sizeof(typename Precision::Operand));
  static_assert(Precision::a_k_tile == Precision::b_k_tile);

  const char* from;              ///< begin of the seeds, or of the part in the first k-tile of the panel
  int size;                      ///< bytes of an atom, or of a k-tile
  int first = 0, of_chunk[3];    ///< number of the atom or k-tile, for chunk 0 and for each number of the chunk
  int limit[2];                  ///< the chunk's second and third number must be smaller
  int most, rest, of_third = 0;  ///< bytes: at most `most`, and `rest` less `of_third` for each third number
  int to;                        ///< place in the stage, bytes

  /// `warp`: number of the copying warp.
  __device__ __forceinline__ ChunkCopy(const BackwardProduct& p, const BackwardView& v, const BackwardTile& tile,
                                       const MixedBackwardChunks& chunk, int warp, int lane) {
    if (lane < runs) {
      set_run(p, v, tile, warp * runs + lane);
    } else {
      set_part(p, v, tile, chunk, (lane - runs) * Config::copying_warps + warp);
    }
  }
  __device__ __forceinline__ int bytes(const MixedBackwardChunks& chunk) const {
    const bool inside = chunk.second < limit[0] && chunk.third < limit[1];
    return inside ? min(most, rest - of_third * chunk.third) : 0;
  }
  __device__ __forceinline__ const char* source(const MixedBackwardChunks& chunk) const {
    const int n = first + chunk.first * of_chunk[0] + chunk.second * of_chunk[1] + chunk.third * of_chunk[2];
    return from + std::int64_t{n} * size;
  }

 private:
  static constexpr int unlimited = 1 << 30;
  static __device__ __forceinline__ int fours(int n) { return (n + 3) / 4; }

  __device__ __forceinline__ void set_run(const BackwardProduct& p, const BackwardView& v, const BackwardTile& tile,
                                          int run) {
    const SeedExtents seeds(p.extent);
    const auto of_particle = [&](int q) {
      return q == 2 ? 1 : q == 1 ? seeds.particles[2] : seeds.particles[1] * seeds.particles[2];
    };
    const auto of_hole = [&](int q) {
      const int of_k = seeds.particles[0] * of_particle(0);
      return q == 2 ? of_k : q == 1 ? seeds.groups[2] * of_k : seeds.groups[1] * seeds.groups[2] * of_k;
    };
    const bool c_is_lone = v.x == 2;
    int px, pu, pw;  // in chunk 0
    if (v.left) {
      px = tile.row[0] + (c_is_lone ? run % 2 * 4 : run / 4);
      pu = c_is_lone ? run / 8 : run % 4;
      pw = c_is_lone ? run / 2 % 4 : 0;
      first = tile.row[1] * of_hole(v.h) + tile.row[2] * of_hole(v.h2);
      of_chunk[0] = of_hole(v.y);
      of_chunk[1] = 4 * of_particle(v.u);
      of_chunk[2] = 4 * of_particle(v.w);
      limit[0] = fours(p.extent[v.u] - pu);
      limit[1] = px < p.extent[v.x] ? fours(p.extent[v.w] - pw) : 0;
    } else {
      px = c_is_lone ? 0 : run / 8;
      pu = tile.row[0] + (c_is_lone ? run / 8 : run / 2 % 4);
      pw = tile.row[1] + (c_is_lone ? run % 8 : run % 2 * 4);
      first = tile.row[2] * of_hole(v.y);
      of_chunk[0] = of_hole(v.h);
      of_chunk[1] = of_hole(v.h2);
      of_chunk[2] = 4 * of_particle(v.x);
      limit[0] = unlimited;
      limit[1] = pu < p.extent[v.u] && pw < p.extent[v.w] ? fours(p.extent[v.x] - px) : 0;
    }
    first += px * of_particle(v.x) + pu * of_particle(v.u) + pw * of_particle(v.w);
    from = static_cast<const char*>(p.seeds);
    size = Config::atom_bytes;
    most = Config::run_atoms * Config::atom_bytes;
    rest = (seeds.particles[2] - v.particle_at(2, px, pu, pw)) * Config::atom_bytes;
    // The third number counts fours of w or of p, and one of these is c.
    if (v.left != c_is_lone) of_third = 4 * Config::atom_bytes;
    to = run * most;
  }

  __device__ __forceinline__ void set_part(const BackwardProduct& p, const BackwardView& v, const BackwardTile& tile,
                                           const MixedBackwardChunks& chunk, int part) {
    const int column = part / parts, slice = part % parts, k_tile = tile.k_tile + column;
    const int units = fours(p.extent[v.left ? v.w : v.x]);
    // The order of k-tiles is that of right_k_tile() and left_k_tile().
    of_chunk[0] = chunk.seconds * p.k_tiles * units;
    of_chunk[1] = v.left ? units : p.k_tiles * units;
    of_chunk[2] = 1;
    first = k_tile * units * (v.left ? chunk.seconds : 1);
    from = p.panel + slice * Precision::slice_bytes;
    size = unit_bytes;
    limit[0] = unlimited;
    limit[1] = column < Config::columns && k_tile < p.k_tiles ? unlimited : 0;
    most = slice == 2 ? scale_bytes : Precision::slice_bytes;
    rest = unlimited;
    to = slice == 2 ? Config::scales_at + column * scale_bytes
                    : Config::a_bytes + slice * Config::slice_bytes + column * Precision::slice_bytes;
  }
};

/// Copies the chunks of a tile, with all copying warps: the copies of a warp start one after the other, and a single
/// warp would not keep up. `warp`: number of the copying warp.
template <typename Config>
__device__ __forceinline__ void load_mixed_backward_tile(const BackwardProduct& p, const BackwardTile& tile,
                                                         char* storage, Ring<Config::stages>& ring, int warp,
                                                         int lane) {
  const BackwardView v(p);
  MixedBackwardChunks chunk(p, v);
  const ChunkCopy<Config> copy(p, v, tile, chunk, warp, lane);
  for (; !chunk.done(); chunk.advance()) {
    const int bytes = copy.bytes(chunk);
    const char* const from = copy.source(chunk);
    const auto all = static_cast<int>(__reduce_add_sync(~0u, static_cast<unsigned>(bytes)));
    char* const stage = storage + ring.slot() * Config::stage_bytes;
    ring.acquire_empty();
    const Barrier full = ring.full();
    if (lane == 0) full.arrive_expecting(all);
    __syncwarp();
    if (bytes > 0) full.copy(stage + copy.to, from, bytes);
    ring.advance();
  }
}

/// A lane's part of A in one k-step, for both slices: register j has row r + 8 (j % 2), and k = 8 (j / 2) + 2 q and k +
/// 1.
struct SplitSeeds {
  unsigned high[4], low[4];

  /// Splits two seeds. Numbers of another task may stand in parts of a stage that no copy fills. They are multiplied by
  /// zeros, so they must stay finite.
  __device__ __forceinline__ void set(int j, float x0, float x1) {
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(high[j]) : "f"(x1), "f"(x0));
    float high0, high1;
    asm("{ .reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
        : "=f"(high0), "=f"(high1)
        : "r"(high[j]));
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(low[j]) : "f"(x1 - high1), "f"(x0 - high0));
#endif
  }
};

/// Where a lane finds its part of A in a stage. Lane 4 r + q has rows r and r + 8 of its warp.
///
/// Left panel: the rows of a warp are the holes h, h' of one p, and k is [u / 2, y, u % 2] of one w. Right panel: the
/// rows are four w and y of one u, and k is [h, h'] of one p.
template <bool left, bool c_is_lone>
class SeedLane {
  using Strides = StageStrides<left, c_is_lone>;
  static constexpr int atom = seed_atom * 4;

 public:
  __device__ __forceinline__ SeedLane(const BackwardView& v, int group, int warp, int lane, float scale)
      : scale_(scale) {
    const int r = lane / 4, q = lane % 4;
    const auto at = [&](int of_y, int of_h, int of_h2, int odd) {
      return 4 * float_seed_place(v.hole_at(0, of_y, of_h, of_h2), v.hole_at(1, of_y, of_h, of_h2),
                                  v.hole_at(2, of_y, of_h, of_h2), odd);
    };
    constexpr int odd = 4 * odd_float_places;
    const bool a_is_lone = v.x == 0;
    if (left) {
      first_ = atom * (4 * group + warp) * Strides::p;
      place_ = at(q, r / 4, r % 4, a_is_lone ? 0 : warp & 1);
      flip_[0] = at(0, 2, 0, 0);
      flip_[1] = a_is_lone ? odd : 0;
      odd_step_ = odd;
    } else {
      first_ = atom * (warp * Strides::u + (4 * group + r / 4) * Strides::w);
      place_ = at(r % 4, q / 2, q % 2 * 2, (r / 4 + (a_is_lone ? warp : 0)) & 1);
      flip_[0] = at(0, 2, 0, 0);
      flip_[1] = at(0, 0, 1, 0);
      odd_step_ = a_is_lone ? 0 : odd;
    }
  }
  /// Reads and splits the seeds of k-step `s`, which must be known at compile time.
  __device__ __forceinline__ void load(const char* stage, int s, SplitSeeds& seeds) const {
    const int place = place_ ^ (s % 2 != 0 ? odd_step_ : 0);
    const char* const from = stage + first_ + atom * s * (left ? Strides::w : Strides::p);
    const auto read = [&](int row_8, int k_8, int k_1) {
      // Left: bit 0 of `flips` is the row, bit 1 is u % 2. Right: k / 8, and k % 2.
      const int flip = ((left ? row_8 : k_8) != 0 ? flip_[0] : 0) ^ (k_1 != 0 ? flip_[1] : 0);
      const int atoms = left ? (2 * k_8 + k_1) * Strides::u : 2 * row_8 * Strides::w;
      return scale_ * *reinterpret_cast<const float*>(from + atom * atoms + (place ^ flip));
    };
#pragma unroll
    for (int j = 0; j < 4; ++j) seeds.set(j, read(j % 2, j / 2, 0), read(j % 2, j / 2, 1));
  }

 private:
  float scale_;
  int first_;     ///< bytes from the begin of a stage to the first atom
  int place_;     ///< bytes in an atom
  int flip_[2];   ///< bits of the place that change with the row or with k
  int odd_step_;  ///< bits that change for odd k-steps
};

/// Adds the chunks of a tile. `columns`: k-tiles of x that are computed, the first ones of the tile. `group` 0..1,
/// `warp` 0..3: place of the warp among the math warps. `scale`: of the seeds.
template <bool left, bool c_is_lone, int columns, typename Config>
__device__ __forceinline__ void add_mixed_backward_tile(const BackwardProduct& p, const char* storage,
                                                        Ring<Config::stages>& ring, int group, int warp, int lane,
                                                        float scale, typename Config::Sums& sums) {
  using Precision = typename Config::Precision;
  constexpr int x_core = Precision::k_core_bytes;
  constexpr unsigned step = 2 * Precision::line_core_bytes / descriptor_unit,
                     slice = Config::slice_bytes / descriptor_unit;
  const BackwardView v(p);
  const SeedLane<left, c_is_lone> at(v, group, warp, lane, scale);
  constexpr int of_column = Config::fragments / Config::columns, fragments = columns * of_column;
  float of_chunk[fragments][4];
#pragma unroll
  for (int n = 0; n < fragments; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) of_chunk[n][e] = 0.0f;
#pragma unroll 1
  for (MixedBackwardChunks chunk(p, v); !chunk.done(); chunk.advance()) {
    ring.acquire_full();
    const char* const stage = storage + ring.slot() * Config::stage_bytes;
    const unsigned high = same_in_warp(
        static_cast<int>(operand_descriptor(shared_address(stage) + Config::a_bytes, Precision::line_core_bytes)));
    SplitSeeds seeds[2];
#pragma unroll
    for (int s = 0; s < Config::steps; ++s) {
      if (s >= 2) wait_for_multiplications<1>();
      SplitSeeds& now = seeds[s % 2];
      at.load(stage, s, now);
      begin_multiplications();
      if (s == 0) {
        multiply_registers<x_core, true>(of_chunk, now.high, high + slice);
      } else {
        multiply_registers<x_core, false>(of_chunk, now.high, high + s * step + slice);
      }
      multiply_registers<x_core, false>(of_chunk, now.low, high + s * step);
      multiply_registers<x_core, false>(of_chunk, now.high, high + s * step);
      commit_multiplications();
    }
    float of_panel[columns];
#pragma unroll
    for (int n = 0; n < columns; ++n) {
      // The last bits of a scale of SplitHalf make up for truncation in the triples kernel. Here all sums have the
      // length for which 2^-22 does.
      const unsigned bits = *reinterpret_cast<const unsigned*>(stage + Config::scales_at + 16 * n);
      of_panel[n] = __uint_as_float((bits & 0x7f800000u) | 2u);
    }
    wait_for_multiplications<0>();
    ring.empty().arrive();  // all lanes, as in the kernel in double precision
    ring.advance();
#pragma unroll
    for (int n = 0; n < fragments; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        asm volatile("" : "+f"(of_chunk[n][e])::"memory");  // so that it is not read before the wait
        sums[n][e] = fmaf(of_chunk[n][e], of_panel[n / of_column], sums[n][e]);
      }
    }
  }
}

/// Rounds the sums of a tile to integers and adds them to the panel of the product. `factor`: of the sums.
template <typename Config>
__device__ __forceinline__ void write_mixed_backward_tile(const BackwardProduct& p, const BackwardTile& tile, int group,
                                                          int warp, int lane, double factor,
                                                          const typename Config::Sums& sums) {
  const BackwardView v(p);
  const int r = lane / 4, q = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    unsigned long long* const out = backward_row(p, v, tile, v.left ? 4 * group + warp : warp, group, r + 8 * half);
    if (out == nullptr) continue;
#pragma unroll
    for (int n = 0; n < Config::fragments; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int x = tile.k_tile * Config::Precision::k_tile_depth + 8 * n + 2 * q + e;
        if (x < p.begin || x >= p.end) continue;
        const long long sum = __double2ll_rn(factor * static_cast<double>(sums[n][2 * half + e]));
        asm volatile("red.global.add.u64 [%0], %1;" ::"l"(out + x), "l"(sum) : "memory");
      }
    }
  }
}

/// Returns the exponent of the power of two by which seeds are multiplied. `largest`: bits of the largest magnitude,
/// which it moves to [2^14, 2^15).
__device__ __forceinline__ int seed_shift(unsigned largest) {
  constexpr int bias = 127;
  return min(max(14 + bias - static_cast<int>(largest >> 23), 1 - bias), bias);
}

template <typename Config>
__global__ void __launch_bounds__(Config::threads, 1)
    mixed_backward_kernel(const __grid_constant__ BackwardParameters parameters) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) char storage[];
  __shared__ RingBarriers<Config::stages> barriers;
  const int warp = same_in_warp(warp_number()), lane = lane_number();
  // Parts of a stage that no copy fills must hold finite numbers, because they are multiplied by 0.
  for (int n = thread_number(); n < Config::stages * Config::stage_bytes / 16; n += Config::threads)
    reinterpret_cast<float4*>(storage)[n] = {0.0f, 0.0f, 0.0f, 0.0f};
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    Ring<Config::stages>::initialise(barriers, Config::copying_warps, 32 * Config::warps);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  Ring<Config::stages> ring(barriers);
  if (warp >= Config::warps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Config::other_registers));
    for (unsigned n = blockIdx.x; n < parameters.tile_count; n += gridDim.x) {
      const BackwardTile tile = parameters.tiles[n];
      load_mixed_backward_tile<Config>(parameters.products[tile.product], tile, storage, ring, warp - Config::warps,
                                       lane);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Config::math_registers));
  const int group = warp / Config::group_warps, in_group = warp % Config::group_warps;
  for (unsigned n = blockIdx.x; n < parameters.tile_count; n += gridDim.x) {
    const BackwardTile tile = parameters.tiles[n];
    const BackwardProduct& product = parameters.products[tile.product];
    const int shift = seed_shift(__ldg(product.largest));
    const float scale = __int_as_float((shift + 127) << 23);
    typename Config::Sums sums;
#pragma unroll
    for (int f = 0; f < Config::fragments; ++f)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[f][e] = 0.0f;
    const auto add = [&](auto left, auto c_is_lone) {
      constexpr int narrower = Config::columns > 1 ? Config::columns - 1 : 1;
      const int k_tiles = (product.end + Config::Precision::k_tile_depth - 1) / Config::Precision::k_tile_depth;
      if (same_in_warp(k_tiles - tile.k_tile) <= narrower) {  // the last tile of a row may be narrower
        add_mixed_backward_tile<left.value, c_is_lone.value, narrower, Config>(product, storage, ring, group, in_group,
                                                                               lane, scale, sums);
      } else {
        add_mixed_backward_tile<left.value, c_is_lone.value, Config::columns, Config>(product, storage, ring, group,
                                                                                      in_group, lane, scale, sums);
      }
    };
    const bool left = same_in_warp(product.left) != 0, c_is_lone = same_in_warp(product.particle) == 2;
    if (left && c_is_lone) {
      add(std::true_type{}, std::true_type{});
    } else if (left) {
      add(std::true_type{}, std::false_type{});
    } else if (c_is_lone) {
      add(std::false_type{}, std::true_type{});
    } else {
      add(std::false_type{}, std::false_type{});
    }
    const double factor = product.factor * __hiloint2double((1023 - shift) << 20, 0);
    write_mixed_backward_tile<Config>(product, tile, group, in_group, lane, factor, sums);
  }
#endif
}

}
