#pragma once

#include "cxx/cuda/schedule/accumulator_layout.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"

/// Where a CTA finds the operands of a product in device memory, and where it puts them in a stage of shared memory.
namespace trifuse::gpu {

/// Returns the number of particles of a CTA tile along `position`, 0..2 for a, b, c. The last particles may lie beyond
/// the end of the orbital tile.
template <typename Config>
__device__ __forceinline__ int cta_extent(const CtaTile& cta_tile, int position) {
  return cta_tile.warps[position] * Config::warp_tile(position);
}

/// Returns the number of the calling thread in its CTA. Each call reads it anew, because the math warps have no
/// register left for it.
__device__ __forceinline__ int thread_number() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
__device__ __forceinline__ int lane_number() {
  return thread_number() & 31;
}
__device__ __forceinline__ int warp_number() {
  return thread_number() >> 5;
}
/// Returns x, which must be the same in all lanes of the warp. The result is in a uniform register. So the compiler
/// knows that all lanes take the same path; it must know this where warps multiply together.
__device__ __forceinline__ int same_in_warp(int x) {
#if __CUDA_ARCH__ >= 800
  return static_cast<int>(__reduce_or_sync(~0u, static_cast<unsigned>(x)));
#else
  return x;
#endif
}

/// Returns the value that x has in one lane of a warp. All lanes must call this together.
__device__ __forceinline__ float from_lane(int lane, float x) {
  return __shfl_sync(~0U, x, lane);
}

/// The operands of one product for one CTA tile.
///
/// A stage holds one k-tile of both operands. First comes A [x, element], where x is the particle that stands alone.
/// Then comes B [row, pair, element]: rows count the first of the other two particles, pairs count the second one in
/// twos. `element` counts the elements in the k-tile of one fragment. In the packed panels, the k-tile of A is
/// contiguous, and the k-tile of B is contiguous along a row. The memory of particles beyond the end of the orbital
/// tile is not filled, and results that are computed from it are not used.
template <typename Config>
struct ProductSource {
  const char* a;                ///< first k-tile of A in device memory
  const char* b;                ///< first k-tile of B in device memory
  std::int64_t a_step, b_step;  ///< bytes from one k-tile to the next in device memory
  int b_row;                    ///< bytes from one row to the next in device memory
  int a_bytes;                  ///< bytes of A to copy for each k-tile
  int rows, row_bytes;          ///< number of rows of B to copy for each k-tile, and the bytes of each row
  int b_offset, row_stride;     ///< bytes from the begin of a stage to B, and from one row to the next in a stage

  /// `axes`: axes of the product.
  __device__ __forceinline__ ProductSource(const TaskData& task, const KernelProduct& product, const CtaTile& cta_tile,
                                           const ProductAxes& axes) {
    using Precision = typename Config::Precision;
    constexpr int size = sizeof(typename Precision::Operand);
    constexpr int a_k_tile = Precision::a_k_tile * size, b_k_tile = Precision::b_k_tile * size;
    const int x = axes.particle, y = axes.hole;
    const int u = first_other(x), w = second_other(x);
    const int h1 = 3 + first_other(y), h2 = 3 + second_other(y), h = 3 + y;
    const int k_tiles = (product.k_steps + Precision::k_tile_steps - 1) / Precision::k_tile_steps;
    const int h2_groups = (task.extent[h2] + hole_group_size - 1) / hole_group_size;
    const int particle_pairs = (task.extent[w] + particle_pair - 1) / particle_pair;
    a = static_cast<const char*>(product.a) + size * left_k_tile<Precision>(cta_tile.hole_group[h1 - 3], h2_groups,
                                                                            cta_tile.hole_group[h2 - 3], k_tiles, 0,
                                                                            task.extent[x], cta_tile.particle[x]);
    b = static_cast<const char*>(product.b) +
        size * right_k_tile<Precision>(cta_tile.hole_group[h - 3], k_tiles, 0, task.extent[u], cta_tile.particle[u],
                                       particle_pairs, cta_tile.particle[w] / particle_pair);
    a_step = std::int64_t{a_k_tile} * task.extent[x];
    b_row = b_k_tile * particle_pairs;
    b_step = std::int64_t{b_row} * task.extent[u];
    a_bytes = a_k_tile * min(cta_extent<Config>(cta_tile, x), task.extent[x] - cta_tile.particle[x]);
    rows = min(cta_extent<Config>(cta_tile, u), task.extent[u] - cta_tile.particle[u]);
    row_bytes =
        b_k_tile * ((min(cta_extent<Config>(cta_tile, w), task.extent[w] - cta_tile.particle[w]) + particle_pair - 1) /
                    particle_pair);
    b_offset = a_k_tile * cta_extent<Config>(cta_tile, x);
    row_stride = b_k_tile * (cta_extent<Config>(cta_tile, w) / particle_pair);
  }
};

/// The warp tile that a math warp computes.
struct WarpCoord {
  int at[3];    ///< [a, b, c] position in the CTA tile, in warp tiles
  bool inside;  ///< false: the CTA tile has no warp tile for this warp

  __device__ __forceinline__ WarpCoord(const CtaTile& cta_tile, int warp) {
    const int b = cta_tile.warps[1], c = cta_tile.warps[2];
    at[2] = warp % c;
    at[1] = warp / c % b;
    at[0] = warp / (c * b);
    inside = at[0] < cta_tile.warps[0];
  }
};

/// The numbers of the units of a product in a stage, for warps that multiply together (see SplitHalfUnits). First come
/// the units of A [x], then the units of B: [c, b] if a stands alone, else [a, c] or [a, b]. So the two units with the
/// 8 values of b follow each other.
template <typename Config>
struct GroupUnits {
  static constexpr int particles = 4;  ///< particles of a unit along each axis
  int of[3];                           ///< [a, b, c] number of units of the CTA tile
  int first[3];                        ///< [a, b, c] first unit of the group

  __device__ __forceinline__ GroupUnits(const CtaTile& cta_tile, const WarpCoord& coord) {
#pragma unroll
    for (int q = 0; q < 3; ++q) {
      of[q] = cta_extent<Config>(cta_tile, q) / particles;
      first[q] = coord.at[q] * Config::warp_tile(q) / particles;
    }
  }
  /// Returns the number of the unit that has no b.
  __device__ __forceinline__ int single(int x) const {
    return x == 1 ? of[1] + first[0] * of[2] + first[2] : first[x];
  }
  /// Returns the number of the first of the two units that have b.
  __device__ __forceinline__ int first_of_two(int x) const {
    if (x == 1) return first[1];
    return x == 0 ? of[0] + first[2] * of[1] + first[1] : of[2] + first[0] * of[1] + first[1];
  }
};

/// Where the units of all products of a CTA tile lie in the panels, for warps that multiply together. It is computed
/// once for each CTA tile, so that the producer begins a product without delay. Units are numbered as GroupUnits says.
template <typename Config>
struct UnitTable {
  using Precision = typename Config::Precision;
  static constexpr int max_units = 8;  ///< units of a product in a stage
  enum Operand : int { a, b };
  std::int32_t unit[3][max_units];  ///< [x, unit] number of the unit in a k-tile of the panel; -1: there is none
  std::int32_t units_of_a[3];       ///< [x] number of units of A in a stage
  std::int32_t panel_units[2][3];   ///< [operand, x] number of units of a k-tile in the panel
  std::int32_t block[2][3];         ///< [operand, y] the CTA tile's hole groups in the panel

  /// Fills the table with at least 3 * max_units threads. The caller is number `thread` of them.
  __device__ __forceinline__ void fill(const TaskData& task, const CtaTile& cta_tile, int thread) {
    constexpr int particles = Precision::a_particles;
    static_assert(Precision::b_first == particles && Precision::b_second == particles);
    if (thread >= 3 * max_units) return;
    const int x = thread / max_units, n = thread % max_units;
    const int u = first_other(x), w = second_other(x);
    const auto in_cta_tile = [&](int q) { return cta_extent<Config>(cta_tile, q) / particles; };
    const auto in_panel = [&](int q) { return (task.extent[q] + particles - 1) / particles; };
    const auto number = [&](int q, int of_cta) { return cta_tile.particle[q] / particles + of_cta; };
    const int of_a = in_cta_tile(x);
    int found = -1;
    if (n < of_a) {
      if (number(x, n) < in_panel(x)) found = number(x, n);
    } else {
      // The fast index of the units of B is b, except if b stands alone.
      const int of_b = n - of_a, fast = in_cta_tile(x == 0 ? u : w), slow = in_cta_tile(x == 0 ? w : u);
      const int n_fast = of_b % fast, n_slow = of_b / fast;
      const int n_u = number(u, x == 0 ? n_fast : n_slow), n_w = number(w, x == 0 ? n_slow : n_fast);
      if (n_slow < slow && n_u < in_panel(u) && n_w < in_panel(w)) found = n_u * in_panel(w) + n_w;
    }
    unit[x][n] = found;
    if (n > 0) return;
    units_of_a[x] = of_a;
    panel_units[a][x] = in_panel(x);
    panel_units[b][x] = in_panel(u) * in_panel(w);
    const int y = x, h1 = first_other(y), h2 = second_other(y);
    block[a][y] = cta_tile.hole_group[h1] * ((task.extent[3 + h2] + hole_group_size - 1) / hole_group_size) +
                  cta_tile.hole_group[h2];
    block[b][y] = cta_tile.hole_group[y];
  }
};

/// All units of a product that vanishes are this unit of zeros, see give_k_steps().
template <typename Precision>
__device__ const ulonglong2 unit_of_zeros[Precision::k_tile_bytes / sizeof(ulonglong2)] = {};

/// The unit that a lane of the producer warp copies. The number of the lane is the number of the unit in a stage.
template <typename Config>
struct UnitSource {
  const char* from;  ///< first k-tile of the unit in device memory
  bool is_there;     ///< false: the lane has no unit
  int step;          ///< bytes from one k-tile to the next

  __device__ __forceinline__ UnitSource(const UnitTable<Config>& table, const KernelProduct& product, int k_tiles,
                                        const ProductAxes& axes, int lane) {
    using Precision = typename Config::Precision;
    using Table = UnitTable<Config>;
    static_assert(Precision::a_k_tile == Precision::b_k_tile);
    const int x = axes.particle, of_lane = min(lane, Table::max_units - 1);
    const int unit = table.unit[x][of_lane];
    const int operand = lane < table.units_of_a[x] ? Table::a : Table::b;
    const int panel_units = table.panel_units[operand][x], block = table.block[operand][axes.hole];
    const void* const panel = operand == Table::a ? product.a : product.b;
    is_there = lane < Table::max_units && unit >= 0;
    if (panel == nullptr) {
      step = 0;
      from = reinterpret_cast<const char*>(unit_of_zeros<Precision>);
      return;
    }
    step = panel_units * Precision::k_tile_bytes;
    from = static_cast<const char*>(panel) + std::int64_t{step} * (block * k_tiles) +
           std::int64_t{unit} * Precision::k_tile_bytes;
  }
};

/// Returns where the warp with this warp tile finds its operands in a stage. Sets all members but `active` and
/// `multiplies`.
template <typename Config>
__device__ __forceinline__ WarpView warp_view(const CtaTile& cta_tile, const WarpCoord& coord) {
  using Precision = typename Config::Precision;
  WarpView view{};
  if constexpr (Config::group_warps > 1) {
    const GroupUnits<Config> units(cta_tile, coord);
#pragma unroll
    for (int x = 0; x < 3; ++x) {
      view.a[x] = units.single(x) * Precision::data_bytes;
      view.b[x] = units.first_of_two(x) * Precision::data_bytes;
    }
    return view;
  }
  constexpr int size = sizeof(typename Precision::Operand);
#pragma unroll
  for (int x = 0; x < 3; ++x) {
    const int u = first_other(x), w = second_other(x);
    const int particle_pairs = cta_extent<Config>(cta_tile, w) / particle_pair;
    view.a[x] = size * Precision::a_k_tile * coord.at[x] * Config::warp_tile(x);
    view.b[x] =
        size *
        (cta_extent<Config>(cta_tile, x) * Precision::a_k_tile +
         (coord.at[u] * Config::warp_tile(u) * particle_pairs + coord.at[w] * Config::warp_tile(w) / particle_pair) *
             Precision::b_k_tile);
    view.row[x] = size * particle_pairs * Precision::b_k_tile;
  }
  return view;
}

}
