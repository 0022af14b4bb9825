#pragma once

#include "cxx/cuda/schedule/phases.hpp"
#include "cxx/cuda/schedule/work.hpp"

/// What a block needs of the operands of one phase, and where in a stage it puts it.
namespace trifuse::gpu {

/// Particles along a position of an item's box; the end of the tile may cut them off.
template <typename Config>
__device__ __forceinline__ int box_size(const Item& item, int position) {
  return item.warps[position] * Config::sub(position);
}

/// Number of the thread, asked for anew each time: while products are summed, no register is left to remember it in.
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

/// The smaller and the larger of the two positions other than `alone`.
__device__ __forceinline__ int first_other(int alone) {
  return alone == 0 ? 1 : 0;
}
__device__ __forceinline__ int second_other(int alone) {
  return alone == 2 ? 1 : 2;
}

/// A stage holds chunks of A [x], x being the particle alone, then chunks of B [row, pair]: rows count the first of the
/// other two particles, pairs the second. Chunks beyond the end of a tile keep their place and are not filled: nothing
/// that is used later is computed from them. In the packed panels A chunks of one inner chunk are contiguous, B chunks
/// are so along a row.
template <typename Config>
struct PhaseSource {
  const char* a;
  const char* b;
  std::int64_t a_step, b_step;  ///< bytes to the next inner chunk
  int b_row;                    ///< bytes to the next row
  int a_bytes;                  ///< to fill with A
  int rows, row_bytes;          ///< to fill with B
  int b_place, row_place;       ///< bytes from the begin of a stage to B, and from row to row

  __device__ __forceinline__ PhaseSource(const TaskData& task, const Phase& phase, const Item& item, int number) {
    using Precision = typename Config::Precision;
    constexpr int size = sizeof(typename Precision::Operand);
    constexpr int a_chunk = Precision::a_chunk * size, b_chunk = Precision::b_chunk * size;
    // Phases in the order of phase_order: x = 0 1 2 2 1 0 0 1 2, y = 2 2 2 1 1 1 0 0 0.
    const int x = number < 3 ? number : number < 6 ? 5 - number : number - 6, y = 2 - number / 3;
    const int u = first_other(x), w = second_other(x);
    const int h1 = 3 + first_other(y), h2 = 3 + second_other(y), h = 3 + y;
    const int inner_chunks = (phase.steps + Precision::chunk_steps - 1) / Precision::chunk_steps;
    const int h2_blocks = (task.extent[h2] + hole_block - 1) / hole_block;
    const int pairs = (task.extent[w] + pair - 1) / pair;
    a = static_cast<const char*>(phase.a) + size * left_chunk<Precision>(item.hole_block[h1 - 3], h2_blocks,
                                                                         item.hole_block[h2 - 3], inner_chunks, 0,
                                                                         task.extent[x], item.particle[x]);
    b = static_cast<const char*>(phase.b) + size * right_chunk<Precision>(item.hole_block[h - 3], inner_chunks, 0,
                                                                          task.extent[u], item.particle[u], pairs,
                                                                          item.particle[w] / pair);
    a_step = std::int64_t{a_chunk} * task.extent[x];
    b_row = b_chunk * pairs;
    b_step = std::int64_t{b_row} * task.extent[u];
    a_bytes = a_chunk * min(box_size<Config>(item, x), task.extent[x] - item.particle[x]);
    rows = min(box_size<Config>(item, u), task.extent[u] - item.particle[u]);
    row_bytes = b_chunk * ((min(box_size<Config>(item, w), task.extent[w] - item.particle[w]) + pair - 1) / pair);
    b_place = a_chunk * box_size<Config>(item, x);
    row_place = b_chunk * (box_size<Config>(item, w) / pair);
  }
};

/// A warp's sub-box in the box of its item, counted along a, b, c.
struct WarpPlace {
  int at[3];
  bool inside;  ///< the box has a sub-box for this warp

  __device__ __forceinline__ WarpPlace(const Item& item, int warp) {
    const int b = item.warps[1], c = item.warps[2];
    at[2] = warp % c;
    at[1] = warp / c % b;
    at[0] = warp / (c * b);
    inside = at[0] < item.warps[0];
  }
};

template <typename Config>
__device__ __forceinline__ WarpView warp_view(const Item& item, const WarpPlace& place, bool active) {
  using Precision = typename Config::Precision;
  constexpr int size = sizeof(typename Precision::Operand);
  WarpView view;
#pragma unroll
  for (int x = 0; x < 3; ++x) {
    const int u = first_other(x), w = second_other(x);
    const int pairs = box_size<Config>(item, w) / pair;
    view.a[x] = size * Precision::a_chunk * place.at[x] * Config::sub(x);
    view.b[x] =
        size * (box_size<Config>(item, x) * Precision::a_chunk +
                (place.at[u] * Config::sub(u) * pairs + place.at[w] * Config::sub(w) / pair) * Precision::b_chunk);
    view.row[x] = size * pairs * Precision::b_chunk;
  }
  view.active = active;
  return view;
}

}  // namespace trifuse::gpu
