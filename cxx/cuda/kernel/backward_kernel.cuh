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
  static_assert(warps * 32 * math_registers + 128 * other_registers <= threads * (65536 / threads / 8 * 8));
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
        u(first_other(x)),
        w(second_other(x)),
        y(p.hole),
        h(first_other(y)),
        h2(second_other(y)),
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
        static_cast<const double*>(p.seeds) + seeds.atom(v.hole_at(0, gy, gh, gh2), v.hole_at(1, gy, gh, gh2),
                                                         v.hole_at(2, gy, gh, gh2), v.particle_at(0, px, pu, pw),
                                                         v.particle_at(1, px, pu, pw), v.particle_at(2, px, pu, pw));
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

/// Where a lane finds its part of A and of B in a stage. Units: bytes. `left`: true for tiles of left panels.
///
/// Left panel: the rows of fragment m are the holes h, h' of one p, and k counts pairs of w: k = q is w + q % 2 and y =
/// q / 2, k + 4 is y + 2. Right panel: the rows are y and four w of one u, and k counts the holes of one p: k = q is h'
/// = q, k + 4 is h + 2; a k-step with odd number has h + 1.
template <bool left, typename Config>
struct BackwardLane {
  static constexpr int odd_bytes = 14 * 8;  ///< what seed_place() changes if b + c is odd
  int place[4];    ///< [row + 8, k + 4 as bits 0 and 1] in an atom, for even numbers of k-steps
  int odd_h[4];    ///< what changes for odd numbers
  int first[2];    ///< [m] begin of the atoms
  int step_bytes;  ///< from one k-step (left) or from one p (right) to the next
  int row_bytes;   ///< from row r to row r + 8
  int of_b[2];     ///< in a k-tile of the panel: left k = q and k + 4, right x and x + 4

  __device__ __forceinline__ BackwardLane(const BackwardView& v, int warp_row, int lane) {
    constexpr int atom = Config::atom_bytes;
    const int r = lane / 4, q = lane % 4;
    const bool c_is_lone = v.x == 2;
    const auto at = [&](int of_y, int of_h, int of_h2, int odd) {
      return 8 * seed_place(v.hole_at(0, of_y, of_h, of_h2), v.hole_at(1, of_y, of_h, of_h2),
                            v.hole_at(2, of_y, of_h, of_h2), odd);
    };
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int row = r + e % 2 * 8, k_4 = e / 2 * 2;
      place[e] = left ? at(q / 2 + k_4, row / 4, row % 4, q % 2) : at(r % 4, k_4, q, r / 4);
      odd_h[e] = left ? 0 : place[e] ^ at(r % 4, k_4 + 1, q, r / 4);
    }
    // The atoms of a stage: left [x, w], or [w, x] if c is lone; right [x, u, w], or [u, w, x].
    const int w_bytes = left ? (c_is_lone ? 8 * atom : atom) : (c_is_lone ? 2 * atom : atom);
    const int x_bytes = c_is_lone ? atom : left ? 8 * atom : 32 * atom;
    const int u_bytes = c_is_lone ? 16 * atom : 8 * atom;
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      first[m] = left ? (2 * warp_row + m) * x_bytes + q % 2 * w_bytes : warp_row * u_bytes + (4 * m + r / 4) * w_bytes;
    }
    step_bytes = left ? 2 * w_bytes : x_bytes;
    row_bytes = left ? 0 : 2 * w_bytes;
    // Column n of B's fragment is x = 8 (n / 4) + n % 4, and 4 more in the second fragment of a pair.
    const int n = r;
    of_b[0] = 16 * (n / 4 * (left ? 32 : 64) + Fp64::place_of_lane(q * 4 + n % 4));
    of_b[1] = left ? 16 * (n / 4 * 32 + Fp64::place_of_lane((q + 4) * 4 + n % 4)) : of_b[0] + 16 * 32;
  }
};

/// Adds k-step `s` of a stage. `flip`: [m] what changes in the places of seeds because b + c is odd.
template <bool left, typename Config>
__device__ __forceinline__ void add_backward_step(const BackwardLane<left, Config>& at, const char* stage, int s,
                                                  const int (&flip)[2], int warp_column, BackwardSums<Config>& sums) {
  double a[2][4];
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const char* const atoms = stage + at.first[m] + (left ? s : s / 2) * at.step_bytes;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int in_atom = (s % 2 == 0 ? at.place[e] : at.place[e] ^ at.odd_h[e]) ^ flip[m];
      a[m][e] = *reinterpret_cast<const double*>(atoms + (e % 2 != 0 ? at.row_bytes : 0) + in_atom);
    }
  }
  // Left: pair s of w. Right: p = s / 2, rows with h = s % 2.
  const char* const panel =
      stage + Config::a_bytes + (left ? s * Fp64::b_k_tile * 8 : s / 2 * Fp64::a_k_tile * 8 + s % 2 * 16 * 16);
  // Left: a load has x and x + 4 of one k. Right: a load has k and k + 4 of one x.
  const auto load = [&](int column, double2& low, double2& high) {
    low = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + at.of_b[0]);
    high = *reinterpret_cast<const double2*>(panel + column * Config::column_bytes + at.of_b[1]);
  };
  const auto add = [&](int fragment, double k0, double k4) {
    const double b[2] = {k0, k4};
    multiply(MmaM16N8K8{}, sums.at[0][fragment], a[0], b);
    multiply(MmaM16N8K8{}, sums.at[1][fragment], a[1], b);
  };
  double2 low, high;
#pragma unroll
  for (int n = 0; n < Config::pairs; ++n) {
    load(warp_column * Config::pairs + n, low, high);
    add(2 * n, low.x, left ? high.x : low.y);
    add(2 * n + 1, left ? low.y : high.x, high.y);
  }
  if constexpr (Config::shared_pair) {
    load(2 * Config::pairs, low, high);
    add(2 * Config::pairs,
        warp_column == 0 ? low.x
        : left           ? low.y
                         : high.x,
        warp_column == 0 ? (left ? high.x : low.y) : high.y);
  }
}

/// Adds the chunks of a tile. `warp_row` 0..3, `warp_column` 0..1: place of the warp among the math warps.
template <bool left, typename Config>
__device__ __forceinline__ void add_backward_tile(const BackwardProduct& p, const char* storage,
                                                  Ring<Config::stages>& ring, int warp_row, int warp_column, int lane,
                                                  BackwardSums<Config>& sums) {
  const BackwardView v(p);
  const BackwardLane<left, Config> at(v, warp_row, lane);
  constexpr int odd_bytes = BackwardLane<left, Config>::odd_bytes;
  for (BackwardChunks chunk(p, v); !chunk.done(); chunk.advance()) {
    const int count = chunk.count(), steps = left ? (count + 1) / 2 : 2 * count;
    // The particle that BackwardLane does not know: u if a is lone, else x.
    const int of_u = (left ? chunk.second : warp_row) & 1;
    ring.acquire_full();
    const char* const stage = storage + ring.slot() * Config::stage_bytes;
#pragma unroll 2
    for (int s = 0; s < 4; ++s) {
      if (s >= steps) break;
      const int of_x = s / 2 & 1;
      const int flip[2] = {(v.x == 0 ? of_u
                            : left   ? 0
                                     : of_x) *
                               odd_bytes,
                           (v.x == 0 ? of_u
                            : left   ? 1
                                     : of_x) *
                               odd_bytes};
      add_backward_step<left, Config>(at, stage, s, flip, warp_column, sums);
    }
    ring.empty().arrive();  // all lanes that have read, so compute-sanitizer can follow the order; it costs no time
    ring.advance();
  }
}

/// Returns the integers of a row of a tile, which its contracted indices follow, or null beyond the end of the panel.
/// `first`: number of the lone particle of a left panel, or of u of a right one, in the tile. `four`: number of four w
/// of a right panel. `row` 0..15: of the other two indices, the second one is faster.
__device__ __forceinline__ unsigned long long* backward_row(const BackwardProduct& p, const BackwardView& v,
                                                            const BackwardTile& tile, int first, int four, int row) {
  const int n0 = tile.row[0] + first, n2 = tile.row[2] * hole_group_size + row % 4;
  const int n1 = row / 4 + (v.left ? tile.row[1] * hole_group_size : tile.row[1] + 4 * four);
  const bool inside = v.left ? n0 < p.extent[v.x] && n1 < p.extent[3 + v.h] && n2 < p.extent[3 + v.h2]
                             : n0 < p.extent[v.u] && n1 < p.extent[v.w] && n2 < p.extent[3 + v.y];
  return inside ? p.out + n0 * p.stride[0] + n1 * p.stride[1] + n2 * p.stride[2] : nullptr;
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
      unsigned long long* const out = backward_row(p, v, tile, v.left ? 2 * warp_row + m : warp_row, m, r + 8 * half);
      if (out == nullptr) continue;
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
    Ring<Config::stages>::initialise(barriers, 1, 32 * Config::warps);
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
