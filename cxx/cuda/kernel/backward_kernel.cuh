#pragma once

#include "cxx/cuda/kernel/barriers.cuh"
#include "cxx/cuda/kernel/instructions.cuh"
#include "cxx/cuda/kernel/product_source.cuh"
#include "cxx/cuda/schedule/seed_layout.hpp"

/// The backward kernel: the products of seeds with panels, see BackwardProduct. It is a matrix product whose A operand
/// is the seeds in one of nine arrangements, and whose B operand is a packed panel, transposed. For compute capability
/// 9.0 and above.
///
///     for all CTAs of the grid, in parallel
///       for each tile of the CTA                                    C [128 rows, 16 columns_16]
///         for each chunk of the sum, in the next stage of the ring  A [128, 32] seeds, B [32, 16 columns_16] panel
///           for all math warps, in parallel                         8: 4 x 2
///             for each of 4 k-steps, fragments m, n                 C(m, n) [16, 8] += A(m) [16, 8] B(n) [8, 8]
///
/// Warps 0 to 7 multiply, warp 8 copies. A stage has 64 atoms of seeds, and 4 KiB of the panel for each k-tile of x.
namespace trifuse::gpu {

/// `columns_16_`: k-tiles of 16 contracted indices x that a CTA tile has.
template <int columns_16_>
struct BackwardConfig {
  static constexpr int columns_16 = columns_16_;
  /// The three warps after the math warps and the copying warp are idle: groups of four warps pass registers together.
  static constexpr int warps = 8, threads = (warps + 4) * 32;
  static constexpr int math_registers = 232, other_registers = 40;
  static constexpr int atom_bytes = seed_atom * 8, a_bytes = 64 * atom_bytes, column_bytes = 4096,
                       stage_bytes = a_bytes + columns_16 * column_bytes;
  static constexpr int stages = stage_bytes * 4 <= 227 * 1024 - 512 ? 4 : 3;
  /// Pairs of B's fragments that each of the two columns of warps has, and if there is one more that they share.
  static constexpr int pairs = columns_16 / 2;
  static constexpr bool shared_pair = columns_16 % 2 != 0;
  static constexpr int fragments = 2 * pairs + (shared_pair ? 1 : 0);
};

/// The geometry of a BackwardProduct, as producer and math warps need it.
struct BackwardView {
  int x, u, w, y, h, h2;  ///< positions of particles 0..2 and of holes 0..2
  bool left;

  __device__ __forceinline__ explicit BackwardView(const BackwardProduct& p)
      : x(p.particle),
        u(x == 0 ? 1 : 0),
        w(x == 2 ? 1 : 2),
        y(p.hole),
        h(y == 0 ? 1 : 0),
        h2(y == 2 ? 1 : 2),
        left(p.left != 0) {}
  /// Returns a value for a, b or c from values for x, u and w.
  __device__ __forceinline__ int particle_at(int q, int of_x, int of_u, int of_w) const {
    return q == x ? of_x : q == u ? of_u : of_w;
  }
  __device__ __forceinline__ int hole_at(int q, int of_y, int of_h, int of_h2) const {
    return q == y ? of_y : q == h ? of_h : of_h2;
  }
};

/// A chunk of the sum: the part of it that one stage holds. A left panel's chunk has one u, 8 w and a group of y; a
/// right panel's has 2 p and the groups of h and h'.
struct BackwardChunks {
  int first, second;  ///< left: group of y, u; right: group of h, group of h'
  int third;          ///< left: first w; right: first p
  int firsts, seconds, thirds, step;

  __device__ __forceinline__ BackwardChunks(const BackwardProduct& p, const BackwardView& v)
      : first(0), second(0), third(0) {
    const auto groups = [&](int hole) { return (p.extent[3 + hole] + hole_group_size - 1) / hole_group_size; };
    firsts = v.left ? groups(v.y) : groups(v.h);
    seconds = v.left ? p.extent[v.u] : groups(v.h2);
    thirds = v.left ? p.extent[v.w] : p.extent[v.x];
    step = v.left ? backward_w : 2;
  }
  __device__ __forceinline__ bool done() const { return first >= firsts; }
  /// Returns the number of values of the third index in the chunk.
  __device__ __forceinline__ int count() const { return min(step, thirds - third); }
  __device__ __forceinline__ void advance() {
    third += step;
    if (third < thirds) return;
    third = 0;
    if (++second < seconds) return;
    second = 0;
    ++first;
  }
};

/// Copies the chunks of a tile, with one warp. Each lane copies a run of atoms and a part of the panel.
template <typename Config>
__device__ __forceinline__ void load_backward_tile(const BackwardProduct& p, const BackwardTile& tile, char* storage,
                                                   Ring<Config::stages>& ring, int lane) {
  const BackwardView v(p);
  const SeedExtents seeds(p.extent);
  const int groups_of_second = (p.extent[3 + v.h2] + hole_group_size - 1) / hole_group_size;
  const int pairs_of_w = (p.extent[v.w] + particle_pair - 1) / particle_pair;
  const bool c_is_lone = v.x == 2;
  const int k_tile = tile.k_tile + lane;
  const bool has_column = lane < Config::columns_16 && k_tile < p.k_tiles;
  for (BackwardChunks chunk(p, v); !chunk.done(); chunk.advance()) {
    const int count = chunk.count();
    // The run of atoms of this lane: its particles, its length, and its place in the stage.
    int px, pu, pw, gy, gh, gh2, run, to;
    bool inside;
    if (v.left) {
      gy = chunk.first;
      gh = tile.row[1];
      gh2 = tile.row[2];
      pu = chunk.second;
      px = tile.row[0] + (c_is_lone ? 0 : lane);
      pw = chunk.third + (c_is_lone ? lane : 0);
      run = c_is_lone ? min(backward_lone_particles, seeds.particles[2] - px) : (count + 1) & ~1;
      inside = lane < backward_lone_particles && px < p.extent[v.x] && pw < p.extent[v.w];
      to = lane * 8 * Config::atom_bytes;
    } else {
      gy = tile.row[2];
      gh = chunk.first;
      gh2 = chunk.second;
      if (c_is_lone) {  // [u, w] runs of p
        pu = tile.row[0] + lane / backward_w;
        pw = tile.row[1] + lane % backward_w;
        px = chunk.third;
        run = 2;
        inside = true;
        to = lane * 2 * Config::atom_bytes;
      } else {  // [p, u] runs of w
        px = chunk.third + lane / backward_u;
        pu = tile.row[0] + lane % backward_u;
        pw = tile.row[1];
        run = min(backward_w, seeds.particles[2] - pw);
        inside = lane < 2 * backward_u;
        to = lane * 8 * Config::atom_bytes;
      }
      inside = inside && px < p.extent[v.x] && pu < p.extent[v.u] && pw < p.extent[v.w];
    }
    const double* atoms =
        p.seeds + seeds.atom(v.hole_at(0, gy, gh, gh2), v.hole_at(1, gy, gh, gh2), v.hole_at(2, gy, gh, gh2),
                             v.particle_at(0, px, pu, pw), v.particle_at(1, px, pu, pw), v.particle_at(2, px, pu, pw));
    const int a_bytes = inside ? run * Config::atom_bytes : 0;
    const char* panel;
    int b_bytes;
    if (v.left) {
      constexpr int size = Fp64::b_k_tile * 8;
      panel = p.panel +
              ((static_cast<std::int64_t>(gy) * p.k_tiles + k_tile) * p.extent[v.u] + pu) * pairs_of_w * size +
              chunk.third / particle_pair * size;
      b_bytes = (count + 1) / particle_pair * size;
    } else {
      constexpr int size = Fp64::a_k_tile * 8;
      panel =
          p.panel + (((static_cast<std::int64_t>(gh) * groups_of_second + gh2) * p.k_tiles + k_tile) * p.extent[v.x] +
                     chunk.third) *
                        size;
      b_bytes = count * size;
    }
    if (!has_column) b_bytes = 0;
    const auto bytes = static_cast<int>(__reduce_add_sync(~0u, static_cast<unsigned>(a_bytes + b_bytes)));
    char* const stage = storage + ring.slot() * Config::stage_bytes;
    ring.acquire_empty();
    const Barrier full = ring.full();
    if (lane == 0) full.arrive_expecting(bytes);
    __syncwarp();
    if (a_bytes > 0) full.copy(stage + to, atoms, a_bytes);
    if (b_bytes > 0) full.copy(stage + Config::a_bytes + lane * Config::column_bytes, panel, b_bytes);
    ring.advance();
  }
}

/// The sums of a warp: C fragments [m, n].
template <typename Config>
struct BackwardSums {
  double at[2][Config::fragments][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int m = 0; m < 2; ++m)
#pragma unroll
      for (int n = 0; n < Config::fragments; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) at[m][n][e] = 0.0;
  }
};

/// Adds the chunks of a tile. `warp_row` 0..3, `warp_column` 0..1: place of the warp among the math warps.
template <bool left, typename Config>
__device__ __forceinline__ void add_backward_tile(const BackwardProduct& p, const char* storage,
                                                  Ring<Config::stages>& ring, int warp_row, int warp_column, int lane,
                                                  BackwardSums<Config>& sums) {
  const BackwardView v(p);
  const int r = lane / 4, q = lane % 4;
  const bool c_is_lone = v.x == 2;
  // Places in an atom of A's rows r and r + 8 and of k = q and q + 4, bytes.
  int place[4];
  int first[2], step_bytes;  // begin of the atoms of fragment m; bytes from one k-step (left) or p (right) to the next
  if constexpr (left) {
    // Rows are the holes h, h' of one p, k counts pairs of w: k = q is w + q % 2 and y = q / 2, k + 4 is y + 2.
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int row = r + e % 2 * 8, of_y = q / 2 + e / 2 * 2;
      place[e] = 8 * seed_place(v.hole_at(0, of_y, row / 4, row % 4), v.hole_at(1, of_y, row / 4, row % 4),
                                v.hole_at(2, of_y, row / 4, row % 4), q % 2);
    }
    const int x_bytes = c_is_lone ? Config::atom_bytes : 8 * Config::atom_bytes,
              w_bytes = c_is_lone ? 8 * Config::atom_bytes : Config::atom_bytes;
    for (int m = 0; m < 2; ++m) first[m] = (2 * warp_row + m) * x_bytes + q % 2 * w_bytes;
    step_bytes = 2 * w_bytes;
  } else {
    // Rows are y and four w of one u, k counts the holes of one p: k = q is h' = q, and k + 4 is h + 2.
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int of_y = r % 4, of_h = e / 2 * 2;
      place[e] =
          8 * seed_place(v.hole_at(0, of_y, of_h, q), v.hole_at(1, of_y, of_h, q), v.hole_at(2, of_y, of_h, q), r / 4);
    }
    const int u_bytes = c_is_lone ? 16 * Config::atom_bytes : 8 * Config::atom_bytes,
              w_bytes = c_is_lone ? 2 * Config::atom_bytes : Config::atom_bytes;
    for (int m = 0; m < 2; ++m) first[m] = warp_row * u_bytes + (4 * m + r / 4) * w_bytes;
    step_bytes = c_is_lone ? Config::atom_bytes : 32 * Config::atom_bytes;
  }
  // For a right panel, rows r + 8 have w + 2, and a k-step with odd number has h + 1.
  const int row_bytes = left ? 0 : 2 * (c_is_lone ? 2 : 1) * Config::atom_bytes;
  int odd_h[4] = {0, 0, 0, 0};
  if constexpr (!left) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int of_y = r % 4, of_h = e / 2 * 2 + 1;
      odd_h[e] = place[e] ^ 8 * seed_place(v.hole_at(0, of_y, of_h, q), v.hole_at(1, of_y, of_h, q),
                                           v.hole_at(2, of_y, of_h, q), r / 4);
    }
  }
  constexpr int odd_bytes = 14 * 8;  // what seed_place() changes if b + c is odd
  // Places in a k-tile of the panel. Left: column q, x = n of both eights of 16. Right: row q of h' = q.
  const int n8 = r;  // column n of B's fragment: x = 8 (n / 4) + n % 4, and 4 more in the second fragment of a pair
  const int b_first = left ? 16 * (n8 / 4 * 32 + Fp64::place_of_lane(q * 4 + n8 % 4))
                           : 16 * (n8 / 4 * 64 + Fp64::place_of_lane(q * 4 + n8 % 4));
  const int b_second = left ? 16 * (n8 / 4 * 32 + Fp64::place_of_lane((q + 4) * 4 + n8 % 4)) : b_first + 16 * 32;
  for (BackwardChunks chunk(p, v); !chunk.done(); chunk.advance()) {
    const int count = chunk.count(), steps = left ? (count + 1) / 2 : 2 * count;
    const int flip_of_chunk =
        left ? (v.x == 0 ? (chunk.second & 1) * odd_bytes : 0) : (v.x == 0 ? (warp_row & 1) * odd_bytes : 0);
    ring.acquire_full();
    const char* const stage = storage + ring.slot() * Config::stage_bytes;
#pragma unroll 2
    for (int s = 0; s < 4; ++s) {
      if (s >= steps) break;
      double a[2][4];
      const int at_step = left ? s * step_bytes : s / 2 * step_bytes;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int flip = flip_of_chunk ^ (v.x == 0 ? 0 : (left ? m : s / 2 & 1) * odd_bytes);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int in_atom = (left || s % 2 == 0 ? place[e] : place[e] ^ odd_h[e]) ^ flip;
          a[m][e] =
              *reinterpret_cast<const double*>(stage + first[m] + at_step + (e % 2 != 0 ? row_bytes : 0) + in_atom);
        }
      }
      // Left: pair s of w. Right: p = s / 2, rows with h = s % 2.
      const char* const panel =
          stage + Config::a_bytes + (left ? s * Fp64::b_k_tile * 8 : s / 2 * Fp64::a_k_tile * 8 + s % 2 * 16 * 16);
      const auto load = [&](int column, double2& low, double2& high) {
        if constexpr (left) {
          low = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + b_first);
          high = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + b_second);
        } else {
          low = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + b_first);
          high = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + b_second);
        }
      };
      const auto add = [&](int fragment, double k0, double k4) {
        const double b[2] = {k0, k4};
        multiply(MmaM16N8K8{}, sums.at[0][fragment], a[0], b);
        multiply(MmaM16N8K8{}, sums.at[1][fragment], a[1], b);
      };
#pragma unroll
      for (int n = 0; n < Config::pairs; ++n) {
        double2 low, high;
        load(warp_column * Config::pairs + n, low, high);
        // Left: a load has x and x + 4 of one k. Right: a load has k and k + 4 of one x.
        add(2 * n, low.x, left ? high.x : low.y);
        add(2 * n + 1, left ? low.y : high.x, high.y);
      }
      if constexpr (Config::shared_pair) {
        double2 low, high;
        load(2 * Config::pairs, low, high);
        const double k0 = warp_column == 0 ? low.x
                          : left           ? low.y
                                           : high.x,
                     k4 = warp_column == 0 ? (left ? high.x : low.y) : high.y;
        add(2 * Config::pairs, k0, k4);
      }
    }
    ring.empty().arrive_as_warp();
    ring.advance();
  }
}

/// Rounds the sums of a tile to integers and adds them to the panel of the product.
template <typename Config>
__device__ __forceinline__ void write_backward_tile(const BackwardProduct& p, const BackwardTile& tile, int warp_row,
                                                    int warp_column, int lane, const BackwardSums<Config>& sums) {
  const BackwardView v(p);
  const int r = lane / 4, q = lane % 4;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = r + 8 * half;
      int n0, n1, n2;
      bool inside;
      if (v.left) {
        n0 = tile.row[0] + 2 * warp_row + m;
        n1 = tile.row[1] * hole_group_size + row / 4;
        n2 = tile.row[2] * hole_group_size + row % 4;
        inside = n0 < p.extent[v.x] && n1 < p.extent[3 + v.h] && n2 < p.extent[3 + v.h2];
      } else {
        n0 = tile.row[0] + warp_row;
        n1 = tile.row[1] + 4 * m + row / 4;
        n2 = tile.row[2] * hole_group_size + row % 4;
        inside = n0 < p.extent[v.u] && n1 < p.extent[v.w] && n2 < p.extent[3 + v.y];
      }
      if (!inside) continue;
      unsigned long long* const out = p.out + n0 * p.stride[0] + n1 * p.stride[1] + n2 * p.stride[2];
#pragma unroll
      for (int n = 0; n < Config::fragments; ++n) {
        const bool shared = Config::shared_pair && n == Config::fragments - 1;
        const int column = shared ? 2 * Config::pairs : warp_column * Config::pairs + n / 2;
        const int second = shared ? warp_column : n % 2;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int in_fragment = 2 * q + e;
          const int x =
              (tile.k_tile + column) * Fp64::k_tile_depth + in_fragment / 4 * 8 + second * 4 + in_fragment % 4;
          if (x < p.begin || x >= p.end) continue;
          const long long sum = __double2ll_rn(p.factor * sums.at[m][n][2 * half + e]);
          asm volatile("red.global.add.u64 [%0], %1;" ::"l"(out + x), "l"(sum) : "memory");
        }
      }
    }
  }
}

template <typename Config>
__global__ void __launch_bounds__(Config::threads, 1)
    backward_kernel(const __grid_constant__ BackwardParameters parameters) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(1024) char storage[];
  __shared__ RingBarriers<Config::stages> barriers;
  const int warp = warp_number(), lane = lane_number();
  // Parts of a stage that no copy fills must hold finite numbers, because they are multiplied by 0.
  for (int n = thread_number(); n < Config::stages * Config::stage_bytes / 16; n += Config::threads)
    reinterpret_cast<double2*>(storage)[n] = {0.0, 0.0};
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    Ring<Config::stages>::initialise(barriers, 1, Config::warps);
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  __syncthreads();
  Ring<Config::stages> ring(barriers);
  if (warp >= Config::warps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Config::other_registers));
#endif
    if (warp > Config::warps) return;
    for (unsigned n = blockIdx.x; n < parameters.tile_count; n += gridDim.x) {
      const BackwardTile tile = parameters.tiles[n];
      load_backward_tile<Config>(parameters.products[tile.product], tile, storage, ring, lane);
    }
    return;
  }
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Config::math_registers));
#endif
  const int warp_row = warp % 4, warp_column = warp / 4;
  for (unsigned n = blockIdx.x; n < parameters.tile_count; n += gridDim.x) {
    const BackwardTile tile = parameters.tiles[n];
    const BackwardProduct& product = parameters.products[tile.product];
    BackwardSums<Config> sums;
    sums.clear();
    if (product.left != 0) {
      add_backward_tile<true, Config>(product, storage, ring, warp_row, warp_column, lane, sums);
    } else {
      add_backward_tile<false, Config>(product, storage, ring, warp_row, warp_column, lane, sums);
    }
    write_backward_tile<Config>(product, tile, warp_row, warp_column, lane, sums);
  }
#endif
}

}
