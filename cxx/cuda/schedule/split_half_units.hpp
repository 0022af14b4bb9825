#pragma once

#include "cxx/cuda/schedule/split_half.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse::gpu {

/// SplitHalf for the instruction wgmma, which reads both operands from shared memory. A unit of A has 4 particles, a
/// unit of B has 4 x 4. Both have 64 lines. The 64 lines of a scale group share one scale.
///
///     unit    line 0..63, C order                                   particles of the unit
///     of A    [p, h, h']                                            p = 0..3
///     of B    [p', p / 2, y, p % 2]                                 p = 0..3, p' = 0..3
///
/// The k-tile of a unit is [line / 8, k / 16, slice, k % 16 / 8, line % 8, k % 8]. The last two indices are a core
/// matrix of the instruction, 8 x 8 numbers in 128 bytes. So core matrices that follow each other along k are 128 bytes
/// apart, and along the lines 1024 bytes, also across units in a stage. The scale follows the numbers.
struct SplitHalfUnits : SplitHalf {
  static constexpr const char* name = "fp16x2_blocks";
  static constexpr int a_particles = 4, b_first = 4, b_second = 4;
  static constexpr int lines = 64;                            ///< lines of a unit
  static constexpr int core = 8;                              ///< lines and contracted indices of a core matrix
  static constexpr int scale_elements = 64;                   ///< one float and padding, together 128 bytes
  static constexpr int data = slices * lines * k_tile_depth;  ///< elements of a k-tile that are numbers
  static constexpr int a_k_tile = data + scale_elements, b_k_tile = a_k_tile;
  static_assert(a_particles * rows == lines && b_first * b_second * hole_group_size == lines);

  /// Returns the indices of a line of a unit of B.
  static constexpr TRIFUSE_HOST_DEVICE UnitLine b_line(int line) {
    const int pair = line / core;
    return {pair % 2 * particle_pair + line % particle_pair, pair / 2, line % core / particle_pair};
  }

  /// Bytes from one core matrix to the next: along the contracted index, and along the lines. `slice_bytes`: from one
  /// slice of a k-step to the next.
  static constexpr int k_core_bytes = core * core * 2, line_core_bytes = core * slices * k_tile_depth * 2;
  static constexpr int slice_bytes = k_step / core * k_core_bytes;
  static constexpr int data_bytes = data * 2, k_tile_bytes = a_k_tile * 2;

  static constexpr TRIFUSE_HOST_DEVICE int a_index(int line, int k, int slice) {
    const int k_core = (k / k_step * slices + slice) * (k_step / core) + k % k_step / core;
    return (line / core * (line_core_bytes / k_core_bytes) + k_core) * (core * core) + line % core * core + k % core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int line, int slice) { return a_index(line, k, slice); }
  static constexpr TRIFUSE_HOST_DEVICE int a_slice(int element) { return element / (slice_bytes / 2) % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int b_slice(int element) { return a_slice(element); }
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) {
    return element / (line_core_bytes / 2) * core + element % (core * core) / core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return a_row(element); }
  static constexpr TRIFUSE_HOST_DEVICE int a_contracted(int element) {
    const int k_core = element % (line_core_bytes / 2) / (core * core);
    return k_core / (slices * 2) * k_step + k_core % 2 * core + element % core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_contracted(int element) { return a_contracted(element); }
};

/// SplitHalfUnits for a product whose contracted indices are the lines: the backward kernel multiplies seeds with
/// panels. The k-tile of a unit is [slice, k / 8, line / 8, line % 8, k % 8]. So core matrices that follow each other
/// along k are 1024 bytes apart, also across the k-tiles of a stage that has first all k-tiles of slice 0.
struct SplitHalfTransposed : SplitHalfUnits {
  static constexpr const char* name = "fp16x2_transposed";
  /// Bytes from one core matrix to the next: along the lines, and along k.
  static constexpr int line_core_bytes = core * core * 2, k_core_bytes = lines / core * line_core_bytes;
  static constexpr int slice_bytes = k_tile_depth / core * k_core_bytes;

  static constexpr TRIFUSE_HOST_DEVICE int a_index(int line, int k, int slice) {
    return ((slice * (k_tile_depth / core) + k / core) * (lines / core) + line / core) * (core * core) +
           line % core * core + k % core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int line, int slice) { return a_index(line, k, slice); }
  static constexpr TRIFUSE_HOST_DEVICE int a_slice(int element) { return element / (slice_bytes / 2) % slices; }
  static constexpr TRIFUSE_HOST_DEVICE int b_slice(int element) { return a_slice(element); }
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) {
    return element / (core * core) % (lines / core) * core + element % (core * core) / core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return a_row(element); }
  static constexpr TRIFUSE_HOST_DEVICE int a_contracted(int element) {
    return element / (k_core_bytes / 2) % (k_tile_depth / core) * core + element % core;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_contracted(int element) { return a_contracted(element); }
};

/// Returns the precision of operands in this format, as users name it.
constexpr Precision precision_of(const OperandFormat& format) {
  const bool split = format == format_of<SplitHalf>() || format == format_of<SplitHalfUnits>() ||
                     format == format_of<SplitHalfTransposed>();
  return split ? Precision::mixed : Precision::fp64;
}

/// Returns the format of the panels that the backward kernel reads. `format`: of the triples kernel that writes the
/// seeds.
constexpr OperandFormat backward_format(const OperandFormat& format) {
  return format == format_of<SplitHalfUnits>() ? format_of<SplitHalfTransposed>() : format;
}

}
