#pragma once

#include <type_traits>

#include "cxx/cuda/contraction/tile_place.cuh"
#include "cxx/cuda/contraction/warp_sums.cuh"
#include "cxx/cuda/kernel/barriers.cuh"

/// Kernels of contractions. A CTA computes tiles of C; every row and column of a tile, and every contracted value, has
/// an offset of its own, so one kernel computes contractions of any indices.
namespace trifuse::contraction::gpu {

using trifuse::gpu::Barrier;
using trifuse::gpu::Ring;
using trifuse::gpu::RingBarriers;
using trifuse::gpu::shared_address;

/// Starts a copy of 8 or 16 bytes from global to shared memory. The bytes behind the first `valid` ones become zero.
template <int bytes>
__device__ __forceinline__ void copy_async(double* to, const double* from, int valid) {
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid)
                 : "memory");
  }
#endif
}
__device__ __forceinline__ int valid_bytes(int count, int most) {
  return min(max(count, 0), most) * static_cast<int>(sizeof(double));
}

/// Starts a copy of the first double of a pair, or of a zero if it does not exist. The second one becomes zero. A copy
/// of 16 bytes reads all of them, however many are valid, and the array may end behind the first double.
__device__ __forceinline__ void copy_first_of_pair(double* to, const double* from, bool exists) {
  copy_async<8>(to, from, exists ? 8 : 0);
  copy_async<8>(to + 1, from, 0);
}

/// The offsets of the contracted values of a step. Lane n of each warp has that of value n; lanes exchange them.
struct StepOffsets {
  std::int32_t of_lane;
  std::uint16_t order_of_lane;  ///< OperandParameters::k_order

  __device__ __forceinline__ StepOffsets(const OperandParameters& operand, int step)
      : of_lane(0), order_of_lane(lane() < step ? operand.k_order[lane()] : std::uint16_t{0}) {}
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  /// Loads the offsets of the step that begins at `k`.
  __device__ __forceinline__ void load(const std::int32_t* k, int step) {
    if (lane() < step) of_lane = __ldg(k + lane());
  }
  __device__ __forceinline__ std::int32_t operator()(int value) const { return __shfl_sync(~0u, of_lane, value); }
  __device__ __forceinline__ int in_order(int n) const { return __shfl_sync(~0u, order_of_lane, n); }
};

/// Starts the copies of a tile to shared memory. The first `valid` of the `step` contracted values exist; the others
/// become zero. Lines that do not exist are not copied. `offsets`: of the contracted values. `thread`: number of the
/// calling one of `threads` threads. All lanes of a warp exchange offsets, so all pass through the loops equally often.
template <Arrangement arrangement, int count, int threads, int step>
__device__ __forceinline__ void load_tile(double* to, const double* from, const TileLines<count>& lines,
                                          const OperandParameters& operand, const StepOffsets& offsets, int valid,
                                          int thread) {
  constexpr int stride = tile_stride(arrangement, count, step);
  if constexpr (arrangement == Arrangement::k_fastest) {
    // Neighbouring threads copy neighbouring contracted values of a line. A thread copies the same ones of each line.
    const auto copy = [&](auto per_line, auto value_of, auto one) {
      constexpr int width = per_line(), lines_at_once = threads / width;
      const int first = thread / width, existing = first < lines_at_once ? operand.line_count : 0;
      const int value = value_of(thread % width);
      const double* const here = from + offsets(value);
      double* const there = to + value;
#pragma unroll 8
      for (int n = 0; n < count; n += lines_at_once) {
        const int line = n + first;
        if (line < existing) one(there + line * stride, here + lines.operand[line], value);
      }
    };
    const auto first_of_pair = [](int at) { return 2 * at; };
    using Pairs = std::integral_constant<int, step / 2>;
    if (operand.pairs && operand.whole_pairs) {
      copy(Pairs{}, first_of_pair,
           [&](double* there, const double* here, int value) { copy_async<16>(there, here, value < valid ? 16 : 0); });
    } else if (operand.pairs) {
      copy(Pairs{}, first_of_pair, [&](double* there, const double* here, int value) {
        const int existing = valid - value;
        if (existing == 1) return copy_first_of_pair(there, here, true);
        copy_async<16>(there, here, valid_bytes(existing, 2));
      });
    } else {
      copy(
          std::integral_constant<int, step>{}, [&](int at) { return offsets.in_order(at); },
          [&](double* there, const double* here, int value) {
            copy_async<8>(there, here, valid_bytes(valid - value, 1));
          });
    }
  } else {
    // A thread copies the same lines for each contracted value.
    const auto copy = [&](auto width, int existing, auto first_line, auto one) {
      constexpr int at_once = threads / width() > 0 ? threads / width() : 1, passes = threads < width() ? 2 : 1;
      static_assert(width() <= 2 * threads);
      constexpr int unrolled = width() == count ? 4 : 8;  // copies of single lines need more registers
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        const int place = thread % width() + pass * threads, first = passes == 1 ? thread / width() : 0;
        const bool active = place < existing && first < at_once;
        const int line = active ? first_line(place) : 0;
        const double* const here = from + lines.operand[line];
        double* const there = to + line;
#pragma unroll unrolled
        for (int n = 0; n < step; n += at_once) {
          const int value = n + first;
          const std::int32_t offset = offsets(min(value, step - 1));
          if (active && value < step) one(there + value * stride, here + offset, value < valid, line);
        }
      }
    };
    const auto first_of_pair = [](int place) { return 2 * place; };
    using Pairs = std::integral_constant<int, count / 2>;
    if (operand.pairs && operand.whole_pairs) {
      copy(Pairs{}, operand.line_count / 2, first_of_pair,
           [](double* there, const double* here, bool exists, int) { copy_async<16>(there, here, exists ? 16 : 0); });
    } else if (operand.pairs) {
      copy(Pairs{}, (operand.line_count + 1) / 2, first_of_pair,
           [&](double* there, const double* here, bool exists, int line) {
             if (line + 1 == operand.line_count) return copy_first_of_pair(there, here, exists);
             copy_async<16>(there, here, exists ? 16 : 0);
           });
    } else {
      copy(
          std::integral_constant<int, count>{}, operand.line_count,
          [&](int place) { return static_cast<int>(lines.order[place]); },
          [](double* there, const double* here, bool exists, int) { copy_async<8>(there, here, exists ? 8 : 0); });
    }
  }
}

/// Reads the fragment of 16 rows and 8 contracted values. The values k and k + 1 of memory are the values q and q + 4
/// of the instruction, for both operands. `row`: the first one of the lane. `q`: number of the lane in a group of four,
/// see instructions.cuh.
template <Arrangement arrangement>
__device__ __forceinline__ void read_rows(double (&a)[4], const double* tile, int stride, int row, int k, int q) {
  if constexpr (arrangement == Arrangement::k_fastest) {
    const double2 upper = *reinterpret_cast<const double2*>(tile + row * stride + k + 2 * q);
    const double2 lower = *reinterpret_cast<const double2*>(tile + (row + 8) * stride + k + 2 * q);
    a[0] = upper.x, a[1] = lower.x, a[2] = upper.y, a[3] = lower.y;
  } else {
    const double* const at = tile + (k + 2 * q) * stride + row;
    a[0] = at[0], a[1] = at[8], a[2] = at[stride], a[3] = at[stride + 8];
  }
}
/// The same for 8 columns.
template <Arrangement arrangement>
__device__ __forceinline__ void read_columns(double (&b)[2], const double* tile, int stride, int column, int k, int q) {
  if constexpr (arrangement == Arrangement::k_fastest) {
    const double2 both = *reinterpret_cast<const double2*>(tile + column * stride + k + 2 * q);
    b[0] = both.x, b[1] = both.y;
  } else {
    const double* const at = tile + (k + 2 * q) * stride + column;
    b[0] = at[0], b[1] = at[stride];
  }
}

/// Adds the products of 8 contracted values from `k` on to the sums of a warp. Calls `after_reading` when the tiles are
/// not read any more.
template <Arrangement of_rows, Arrangement of_columns, int m_count, int n_count, typename AfterReading>
__device__ __forceinline__ void add_products(WarpSums<m_count, n_count>& sums, const double* rows,
                                             const double* columns, int row_stride, int column_stride, int k,
                                             const AfterReading& after_reading) {
  const int q = static_cast<int>(threadIdx.x) % 4, lane_row = static_cast<int>(threadIdx.x) % 32 / 4;
  double a[m_count][4], b[n_count][2];
#pragma unroll
  for (int m = 0; m < m_count; ++m) read_rows<of_rows>(a[m], rows, row_stride, sums.row + 16 * m, k, q);
  const int first_column = sums.column - 2 * q + lane_row;
#pragma unroll
  for (int n = 0; n < n_count; ++n) read_columns<of_columns>(b[n], columns, column_stride, first_column + 8 * n, k, q);
  // With many sums there are no registers for all that is read.
  constexpr bool many_sums = m_count * n_count > 16 && of_rows == Arrangement::k_fastest;
  if constexpr (!many_sums) after_reading();
  sums.add(a, b);
  if constexpr (many_sums) after_reading();
}

/// Registers of a thread after warps that fill the ring have passed some of theirs to those that multiply.
struct Registers {
  int filling, math;
};
constexpr Registers registers_of(const KernelShape& kernel) {
  const int warps = kernel.row_warps * kernel.column_warps;
  const int of_sums = 2 * kernel.rows * kernel.columns / (32 * warps);
  if (warps == 8) return {72, 208};
  return of_sums > 128 ? Registers{48, 200} : Registers{80, 168};
}

/// See KernelKind::pipelined.
template <std::size_t shape, Arrangement of_rows, Arrangement of_columns>
struct Pipelined {
  static constexpr KernelShape kernel = kernel_shapes[shape];
  static constexpr int rows = kernel.rows, columns = kernel.columns, step = kernel.step, slots = kernel.slots;
  static constexpr int math_warps = kernel.row_warps * kernel.column_warps, filling_threads = filling_warps * 32;
  static constexpr int threads = math_warps * 32 + filling_threads;
  static constexpr int warp_rows = rows / kernel.row_warps, warp_columns = columns / kernel.column_warps;
  static constexpr int row_tile = tile_doubles(of_rows, rows, step);
  static constexpr int column_tile = tile_doubles(of_columns, columns, step);
  static_assert(warp_rows % 16 == 0 && warp_columns % 8 == 0 && step % 8 == 0);

  /// What all warps share, beside the slots of the ring. A slot has a tile of rows [row_tile] and one of columns
  /// [column_tile].
  struct Shared {
    TileLines<rows> row_lines;
    TileLines<columns> column_lines;
    RingBarriers<slots> barriers;
  };

  /// Fills the ring. `slot_memory`: [slots, row_tile + column_tile]. `thread`: number of one of `filling_threads`.
  static __device__ __forceinline__ void fill(const Parameters& p, Shared& shared, double* slot_memory,
                                              Segments segments, int thread) {
    Ring<slots> ring(shared.barriers);
    StepOffsets row_offsets(p.rows, step), column_offsets(p.columns, step);
    for (Segment part = segments.next(); part.tile >= 0; part = segments.next()) {
      const TilePlace place(p, part.tile);
      std::int32_t outer = part.begin / p.inner_steps, inner = part.begin % p.inner_steps;
      auto offset = outer_offset(p.outer_k, outer);
      // The offsets of the next step are on their way while this one is copied.
      StepOffsets next_of_rows = row_offsets, next_of_columns = column_offsets;
      const auto load_next = [&] {
        next_of_rows.load(p.rows.k + inner * step, step);
        next_of_columns.load(p.columns.k + inner * step, step);
      };
      load_next();
      for (std::int32_t n = part.begin; n < part.end; ++n) {
        row_offsets = next_of_rows;
        column_offsets = next_of_columns;
        const std::int32_t valid = p.k - inner * step;
        const double* const first_row = place.of_rows(p) + offset[0];
        const double* const first_column = place.of_columns(p) + offset[1];
        if (++inner == p.inner_steps) {
          inner = 0;
          offset = outer_offset(p.outer_k, ++outer);
        }
        load_next();
        double* const to = slot_memory + ring.slot() * (row_tile + column_tile);
        ring.acquire_empty();
        load_tile<of_rows, rows, filling_threads, step>(to, first_row, shared.row_lines, p.rows, row_offsets, valid,
                                                        thread);
        load_tile<of_columns, columns, filling_threads, step>(to + row_tile, first_column, shared.column_lines,
                                                              p.columns, column_offsets, valid, thread);
        ring.full().arrive_after_copies();
        ring.advance();
      }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
  }

  /// Multiplies the tiles in the ring, and stores the results. `warp`: number of one of `math_warps`.
  static __device__ __forceinline__ void multiply_and_store(const Parameters& p, Shared& shared,
                                                            const double* slot_memory, Segments segments, int warp) {
    Ring<slots> ring(shared.barriers);
    WarpSums<warp_rows / 16, warp_columns / 8> sums(warp / kernel.column_warps * warp_rows,
                                                    warp % kernel.column_warps * warp_columns,
                                                    static_cast<int>(threadIdx.x) % 32);
    constexpr int row_stride = tile_stride(of_rows, rows, step), column_stride = tile_stride(of_columns, columns, step);
    for (Segment part = segments.next(); part.tile >= 0; part = segments.next()) {
      const TilePlace place(p, part.tile);
      sums.clear();
      for (std::int32_t n = part.begin; n < part.end; ++n) {
        const double* const tile = slot_memory + ring.slot() * (row_tile + column_tile);
        ring.acquire_full();
#pragma unroll
        for (int k = 0; k < step; k += 8) {
          add_products<of_rows, of_columns>(sums, tile, tile + row_tile, row_stride, column_stride, k, [&] {
            if (k + 8 == step) ring.empty().arrive_as_warp();
          });
        }
        ring.advance();
      }
      if (part.partial >= 0) {
        sums.store_part(p.partials + static_cast<std::int64_t>(part.partial) * (rows * columns), columns);
      } else {
        sums.store(p, p.c + place.c, shared.row_lines, shared.column_lines, place.rows.hidden, place.columns.hidden);
      }
    }
  }
};

template <std::size_t shape, Arrangement of_rows, Arrangement of_columns>
__global__ void __launch_bounds__(Pipelined<shape, of_rows, of_columns>::threads, kernel_shapes[shape].ctas)
    contract_pipelined(const __grid_constant__ Parameters p) {
  using Kernel = Pipelined<shape, of_rows, of_columns>;
  constexpr Registers registers = registers_of(Kernel::kernel);
  extern __shared__ __align__(128) double slot_memory[];
  __shared__ typename Kernel::Shared shared;
  shared.row_lines.template load<Kernel::threads>(p.rows);
  shared.column_lines.template load<Kernel::threads>(p.columns);
  if (threadIdx.x == 0) {
    Ring<Kernel::slots>::initialise(shared.barriers, Kernel::filling_threads, Kernel::math_warps);
  }
  __syncthreads();
  const Segments segments(p.order.size(), p.steps, p.waves, static_cast<std::int32_t>(blockIdx.x),
                          static_cast<std::int32_t>(gridDim.x));
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp >= Kernel::math_warps) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers.filling));
    Kernel::fill(p, shared, slot_memory, segments, static_cast<int>(threadIdx.x) - Kernel::math_warps * 32);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers.math));
    Kernel::multiply_and_store(p, shared, slot_memory, segments, warp);
  }
}

}
