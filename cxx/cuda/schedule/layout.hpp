#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "cxx/operands/panel_kind.hpp"

#if defined(__CUDACC__)
#define TRIFUSE_HOST_DEVICE __host__ __device__
#else
#define TRIFUSE_HOST_DEVICE
#endif

/// How operands lie in device memory. Host code, kernels and tests share these index maps.
///
/// The matrix instruction takes a fragment of 16 rows of A and a fragment of 8 columns of B. The rows of A are 4 x 4
/// values of two hole indices. The columns of B are 4 values of one hole index times 2 values of one particle index.
/// Every other index of an operand counts fragments. A k-tile of a fragment is its rows or columns times `k_tile_depth`
/// contracted indices, stored in the order in which the lanes of a warp read them. So one 16-byte load gives a lane
/// what one instruction needs, without bank conflicts and without moves between registers.
///
///     operand                      packed panel, C order                              last index
///     left panel  (p, h, h')       [group of h, group of h', k-tile, p, element]      k-tile of 16 rows (h, h')
///     right panel (p, p', h)       [group of h, k-tile, p, pair of p', element]       k-tile of 8 columns (h, p')
///     vvoo block  (p, p', h, h')   [group of h, group of h', p, p', element]          4 x 4 holes (h, h')
///
/// A vvoo block has two particles and two holes: integrals, or t2 beside f_ov. Two indices of one kind stand in the
/// order of their positions in a task.
///
/// The elements of left and right panels have the Operand type of a Precision. In every precision the elements of vvoo
/// blocks are doubles. In some precisions numbers are scaled; then a k-tile ends with its scale, see scale_groups.hpp.
namespace trifuse::gpu {

/// Number of holes in a hole group. Zeros fill up the last hole group of an orbital tile.
inline constexpr int hole_group_size = 4;
/// Number of particles in a fragment of B.
inline constexpr int particle_pair = 2;

/// Returns n / size, rounded up.
constexpr TRIFUSE_HOST_DEVICE std::int64_t ceil_div(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

/// A line of a unit of B, see SingleFragments: its two particles, counted from the first ones of the unit, and its hole
/// in the hole group.
struct UnitLine {
  int first, second, hole;
};

/// The units in which panels are packed. Here each fragment of A and of B is a unit. Other precisions may pack several
/// fragments as one unit. Then zeros stand for the particles of the last unit beyond the end of the panel.
struct SingleFragments {
  static constexpr int a_particles = 1;                        ///< particles of a unit of A
  static constexpr int b_first = 1, b_second = particle_pair;  ///< particles p and p' of a unit of B
  /// Returns the indices of line 0..7 of a unit of B, a column of the fragment.
  static constexpr TRIFUSE_HOST_DEVICE UnitLine b_line(int line) {
    return {0, line % particle_pair, line / particle_pair};
  }
};

/// A precision: operands in double precision, for instructions whose fragments are those of m16n8k8. Other precisions
/// have the same members.
struct Fp64 : SingleFragments {
  static constexpr const char* name = "fp64";  ///< no other precision has this name
  using Operand = double;                      ///< an element of a packed left or right panel
  using Accumulator = double;
  /// Number of elements that are stored for each number of a panel, its slices. Their sum is the number.
  static constexpr int slices = 1;
  static constexpr int rows = hole_group_size * hole_group_size;   ///< rows of a fragment of A
  static constexpr int columns = hole_group_size * particle_pair;  ///< columns of a fragment of B
  static constexpr int k_step = 8;                                 ///< contracted indices of one instruction
  static constexpr int k_tile_steps = 2;                           ///< k-steps of a k-tile
  static constexpr int k_tile_depth = k_step * k_tile_steps;       ///< contracted indices
  /// Number of elements at the end of a k-tile that are its scale; 0 if the numbers are not scaled.
  static constexpr int scale_elements = 0;
  /// Number of elements in the k-tile of one unit of A, and of one unit of B.
  static constexpr int a_k_tile = slices * rows * k_tile_depth, b_k_tile = slices * columns * k_tile_depth;

  /// Returns slice `slice` of the number `x`.
  static constexpr TRIFUSE_HOST_DEVICE Operand slice_of(double x, [[maybe_unused]] int slice) { return x; }

  /// Returns the place of a lane's 16 bytes among those of the warp, and the lane of a place. The triples kernel reads
  /// places in any order within groups of eight without bank conflicts. This order is also free of conflicts if a lane
  /// reads the transposed fragment, as the backward kernel does.
  static constexpr TRIFUSE_HOST_DEVICE int place_of_lane(int lane) { return lane ^ (lane >> 2 & 2); }
  /// Returns the offset of (row, k) in the k-tile of a fragment of A: [k / 4, place of the lane, row / 8] with lane = 4
  /// (row % 8) + k % 4.
  static constexpr TRIFUSE_HOST_DEVICE int a_index(int row, int k, [[maybe_unused]] int slice) {
    return (k / 4 * 32 + place_of_lane(row % 8 * 4 + k % 4)) * 2 + row / 8;
  }
  /// Returns the offset of (k, column) in the k-tile of a fragment of B: [k / 8, place of the lane, k % 8 / 4] with
  /// lane = 4 column + k % 4.
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int column, [[maybe_unused]] int slice) {
    return (k / k_step * 32 + place_of_lane(column * 4 + k % 4)) * 2 + k % k_step / 4;
  }
  /// The inverse maps return the slice, the row or column, and k of an offset in a k-tile.
  static constexpr TRIFUSE_HOST_DEVICE int a_slice(int) { return 0; }
  static constexpr TRIFUSE_HOST_DEVICE int b_slice(int) { return 0; }
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) { return element % 64 / 8 + element % 2 * 8; }
  static constexpr TRIFUSE_HOST_DEVICE int a_contracted(int element) {
    return element / 64 * 4 + place_of_lane(element % 64 / 2) % 4;
  }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return element % 64 / 8; }
  static constexpr TRIFUSE_HOST_DEVICE int b_contracted(int element) {
    return element / 64 * k_step + element % 2 * 4 + place_of_lane(element % 64 / 2) % 4;
  }
};

/// The numbers of a Precision that host code plans with. Precisions may have equal sizes; their names differ.
struct OperandFormat {
  std::string_view name;                        ///< name of the precision; a string literal
  std::int32_t k_step;                          ///< contracted indices of one instruction
  std::int32_t k_tile_depth;                    ///< contracted indices of a k-tile
  std::int32_t a_k_tile_bytes, b_k_tile_bytes;  ///< size of the k-tile of one unit of A, of B
  std::int32_t a_particles, b_first, b_second;  ///< particles of a unit, see SingleFragments
  auto operator<=>(const OperandFormat&) const = default;
  /// Returns the size of a number in a left or right panel, all slices together, without scales, bytes.
  constexpr int bytes_per_number() const {
    return b_k_tile_bytes / (hole_group_size * b_first * b_second * k_tile_depth);
  }
  /// The functions return the bytes of a k-tile of A for each particle, and of a k-tile of B for each particle p and
  /// each pair of particles p'.
  constexpr int a_bytes_per_particle() const { return a_k_tile_bytes / a_particles; }
  constexpr int b_bytes_per_pair() const { return b_k_tile_bytes / (b_first * b_second / particle_pair); }
};

template <typename Precision>
constexpr OperandFormat format_of() {
  static_assert(
      Precision::rows == hole_group_size * hole_group_size && Precision::columns == hole_group_size * particle_pair,
      "all precisions have the same fragments");
  constexpr int size = sizeof(typename Precision::Operand);
  return {Precision::name,
          Precision::k_step,
          Precision::k_tile_depth,
          Precision::a_k_tile * size,
          Precision::b_k_tile * size,
          Precision::a_particles,
          Precision::b_first,
          Precision::b_second};
}

/// The format of vvoo blocks in every precision.
inline constexpr OperandFormat vvoo_format = format_of<Fp64>();

/// How a panel is copied from the source, strided rows in the host's layout, to the packed layout. The positions of a
/// panel's indices are p, h, h' for a left panel, p, p', h for a right panel, and p, p', h, h' for a vvoo block.
///
/// The source may be a part of the panel: the holes [outer_begin, outer_begin + outer_count) at position `outer`, and
/// all values of the other indices. It begins at hole `outer_begin`.
struct Packing {
  PanelKind kind;
  std::int32_t extent[4];                 ///< [position] extent of the whole panel
  std::int64_t stride[4];                 ///< [position] stride in the source, doubles
  std::int32_t contracted;                ///< contracted indices, contiguous in the source; 1 for a vvoo block
  std::int32_t outer;                     ///< a position of a hole
  std::int32_t outer_begin, outer_count;  ///< outer_begin is a multiple of `hole_group_size`
};

/// Returns the number of k-tiles that cover `contracted` contracted indices.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t k_tile_count(std::int64_t contracted) {
  return ceil_div(contracted, Precision::k_tile_depth);
}

/// The sizes from which packed_size() computes its result. The result has the unit of the last three sizes.
struct PackedSizes {
  int k_tile_depth;                    ///< contracted indices of a k-tile
  int a_particles, b_first, b_second;  ///< particles of a unit, see SingleFragments
  int a_k_tile, b_k_tile, vvoo_holes;  ///< size of the k-tile of a unit of A, of B, and of 4 x 4 holes of a vvoo block
};

/// Returns the size of the whole packed panel, zeros included.
constexpr TRIFUSE_HOST_DEVICE std::int64_t packed_size(const Packing& p, const PackedSizes& sizes) {
  switch (p.kind) {
    case PanelKind::left:
      return ceil_div(p.extent[1], hole_group_size) * ceil_div(p.extent[2], hole_group_size) *
             ceil_div(p.contracted, sizes.k_tile_depth) * ceil_div(p.extent[0], sizes.a_particles) * sizes.a_k_tile;
    case PanelKind::right:
      return ceil_div(p.extent[2], hole_group_size) * ceil_div(p.contracted, sizes.k_tile_depth) *
             ceil_div(p.extent[0], sizes.b_first) * ceil_div(p.extent[1], sizes.b_second) * sizes.b_k_tile;
    case PanelKind::factors_vv:  // slabs of factors are not packed
    case PanelKind::factors_ov:
    case PanelKind::factors_oo:
      return 0;
    case PanelKind::vvoo:
      break;
  }
  return ceil_div(p.extent[2], hole_group_size) * ceil_div(p.extent[3], hole_group_size) * p.extent[0] * p.extent[1] *
         sizes.vvoo_holes;
}

/// Returns the number of elements of the whole packed panel, zeros included.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t packed_size(const Packing& p) {
  return packed_size(p, {Precision::k_tile_depth, Precision::a_particles, Precision::b_first, Precision::b_second,
                         Precision::a_k_tile, Precision::b_k_tile, hole_group_size * hole_group_size});
}

/// Returns the size of the whole packed panel, zeros included, bytes.
constexpr std::int64_t packed_bytes(const Packing& p, const OperandFormat& format) {
  return packed_size(p,
                     {format.k_tile_depth, format.a_particles, format.b_first, format.b_second, format.a_k_tile_bytes,
                      format.b_k_tile_bytes, hole_group_size * hole_group_size * static_cast<int>(sizeof(double))});
}

/// Returns the offset in a packed left panel of the k-tile of (h1_group, h2_group, k_tile, unit of p), in elements.
/// `h2_groups`, `k_tiles`, `units`: extents of these indices.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t left_k_tile(std::int64_t h1_group, std::int64_t h2_groups,
                                                       std::int64_t h2_group, std::int64_t k_tiles, std::int64_t k_tile,
                                                       std::int64_t units, std::int64_t unit) {
  return (((h1_group * h2_groups + h2_group) * k_tiles + k_tile) * units + unit) * Precision::a_k_tile;
}

/// Returns the offset in a packed right panel of the k-tile of (h_group, k_tile, unit of p, unit of p'), in elements.
/// `k_tiles`, `units`, `units2`: extents of these indices.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t right_k_tile(std::int64_t h_group, std::int64_t k_tiles, std::int64_t k_tile,
                                                        std::int64_t units, std::int64_t unit, std::int64_t units2,
                                                        std::int64_t unit2) {
  return (((h_group * k_tiles + k_tile) * units + unit) * units2 + unit2) * Precision::b_k_tile;
}

/// Returns the offset in a packed vvoo block of the 4 x 4 holes of (h1_group, h2_group, p1, p2), in elements.
/// `h2_groups`, `p1s`, `p2s`: extents of these indices.
constexpr TRIFUSE_HOST_DEVICE std::int64_t vvoo_block(std::int64_t h1_group, std::int64_t h2_groups,
                                                      std::int64_t h2_group, std::int64_t p1s, std::int64_t p1,
                                                      std::int64_t p2s, std::int64_t p2) {
  return (((h1_group * h2_groups + h2_group) * p1s + p1) * p2s + p2) * (hole_group_size * hole_group_size);
}

/// An element of a packed panel: its offset and its indices.
struct PackedIndices {
  std::int64_t packed;  ///< offset in the packed panel
  int index[4];         ///< [position] see Packing
  int contracted;       ///< contracted index
  int slice;            ///< number of the slice, see Precision::slices; 0 in a vvoo block
  bool inside;          ///< false: the element only fills up a fragment and is zero, or it is part of a scale
};

/// Returns element n of the packed_size_of_part(p) elements that are filled from the source of `p`.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE PackedIndices packed_indices(const Packing& p, std::int64_t n) {
  const int outer_blocks = static_cast<int>(ceil_div(p.outer_count, hole_group_size));
  const int first_block = p.outer_begin / hole_group_size;
  // Number of hole groups at a position in the source.
  const auto blocks_of_part = [&](int position) {
    return position == p.outer ? outer_blocks : static_cast<int>(ceil_div(p.extent[position], hole_group_size));
  };
  const auto shift = [&](int position) { return position == p.outer ? first_block : 0; };
  const auto next_digit = [&n](std::int64_t size) {
    const std::int64_t digit = n % size;
    n /= size;
    return static_cast<int>(digit);
  };
  int index[4] = {0, 0, 0, 0};
  int k = 0, slice = 0;
  std::int64_t packed = 0;
  bool in_scale = false;
  if (p.kind == PanelKind::left) {
    const int element = next_digit(Precision::a_k_tile);
    if constexpr (Precision::scale_elements > 0) in_scale = element >= Precision::a_k_tile - Precision::scale_elements;
    const std::int64_t units = ceil_div(p.extent[0], Precision::a_particles);
    const int unit = next_digit(units);
    const int k_tile = next_digit(k_tile_count<Precision>(p.contracted));
    const int b2 = next_digit(blocks_of_part(2)) + shift(2), b1 = static_cast<int>(n) + shift(1);
    const int line = Precision::a_row(element), row = line % Precision::rows;
    k = Precision::a_contracted(element);
    slice = Precision::a_slice(element);
    index[0] = unit * Precision::a_particles + line / Precision::rows;
    index[1] = b1 * hole_group_size + row / hole_group_size;
    index[2] = b2 * hole_group_size + row % hole_group_size;
    packed = left_k_tile<Precision>(b1, ceil_div(p.extent[2], hole_group_size), b2,
                                    k_tile_count<Precision>(p.contracted), k_tile, units, unit) +
             element;
    k += k_tile * Precision::k_tile_depth;
  } else if (p.kind == PanelKind::right) {
    const int element = next_digit(Precision::b_k_tile);
    if constexpr (Precision::scale_elements > 0) in_scale = element >= Precision::b_k_tile - Precision::scale_elements;
    const std::int64_t units = ceil_div(p.extent[0], Precision::b_first),
                       units2 = ceil_div(p.extent[1], Precision::b_second);
    const int unit2 = next_digit(units2), unit = next_digit(units);
    const int k_tile = next_digit(k_tile_count<Precision>(p.contracted));
    const int block = static_cast<int>(n) + shift(2);
    const UnitLine line = Precision::b_line(Precision::b_column(element));
    k = Precision::b_contracted(element);
    slice = Precision::b_slice(element);
    index[0] = unit * Precision::b_first + line.first;
    index[1] = unit2 * Precision::b_second + line.second;
    index[2] = block * hole_group_size + line.hole;
    packed = right_k_tile<Precision>(block, k_tile_count<Precision>(p.contracted), k_tile, units, unit, units2, unit2) +
             element;
    k += k_tile * Precision::k_tile_depth;
  } else {
    const int element = next_digit(hole_group_size * hole_group_size);
    index[1] = next_digit(p.extent[1]);
    index[0] = next_digit(p.extent[0]);
    const int b2 = next_digit(blocks_of_part(3)) + shift(3), b1 = static_cast<int>(n) + shift(2);
    index[2] = b1 * hole_group_size + element / hole_group_size;
    index[3] = b2 * hole_group_size + element % hole_group_size;
    packed = vvoo_block(b1, ceil_div(p.extent[3], hole_group_size), b2, p.extent[0], index[0], p.extent[1], index[1]) +
             element;
  }
  bool inside = p.kind == PanelKind::vvoo || (k < p.contracted && !in_scale);
  for (int q = 0; q < (p.kind == PanelKind::vvoo ? 4 : 3); ++q) inside = inside && index[q] < p.extent[q];
  return {packed, {index[0], index[1], index[2], index[3]}, k, slice, inside};
}

/// Returns the offset of a number in the source of `p`. `indices`: its indices, inside the panel.
constexpr TRIFUSE_HOST_DEVICE std::int64_t raw_offset(const Packing& p, const PackedIndices& indices) {
  std::int64_t raw = indices.contracted;
  for (int q = 0; q < (p.kind == PanelKind::vvoo ? 4 : 3); ++q) {
    raw += (indices.index[q] - (q == p.outer ? p.outer_begin : 0)) * p.stride[q];
  }
  return raw;
}

/// Returns the number of elements of the packed panel that are filled from the source of `p`, zeros included.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t packed_size_of_part(const Packing& p) {
  Packing part = p;
  part.extent[p.outer] = p.outer_count;
  return packed_size<Precision>(part);
}

}
