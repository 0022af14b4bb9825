#pragma once

#include <algorithm>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

/// How left and right panels are packed in a precision whose numbers are scaled, see SplitHalf. Host code, kernels and
/// tests share these functions.
namespace trifuse::gpu {

/// The k-tiles of a unit that share a scale: at most Precision::scaled_k_tiles successive ones along the contracted
/// index.
struct ScaleGroup {
  std::int64_t packed;         ///< offset in the packed panel of the first k-tile, in elements
  std::int64_t k_tile_stride;  ///< elements from one k-tile to the next
  int k_tiles;
  int first[3];    ///< [position] index of the first line of the unit
  int contracted;  ///< first contracted index
};

/// Returns the number of scale groups that are filled from the source of `p`, a left or right panel.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t scale_groups_of_part(const Packing& p) {
  Packing part = p;
  part.extent[p.outer] = p.outer_count;
  const int k_tile = p.kind == PanelKind::left ? Precision::a_k_tile : Precision::b_k_tile;
  const std::int64_t k_tiles = k_tile_count<Precision>(p.contracted);
  if (k_tiles == 0) return 0;
  return packed_size<Precision>(part) / k_tile / k_tiles * ceil_div(k_tiles, Precision::scaled_k_tiles);
}

/// Returns group n of the scale_groups_of_part(p) groups.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE ScaleGroup scale_group(const Packing& p, std::int64_t n) {
  const bool left = p.kind == PanelKind::left;
  const std::int64_t k_tiles = k_tile_count<Precision>(p.contracted);
  const int last_hole = 2, first_block = p.outer_begin / hole_group_size;
  const auto next_digit = [&n](std::int64_t size) {
    const std::int64_t digit = n % size;
    n /= size;
    return static_cast<int>(digit);
  };
  const int first = left ? Precision::a_particles : Precision::b_first;
  const std::int64_t units = ceil_div(p.extent[0], first), units2 = ceil_div(p.extent[1], Precision::b_second);
  const int unit2 = left ? 0 : next_digit(units2);
  const int unit = next_digit(units);
  const int k_tile = next_digit(ceil_div(k_tiles, Precision::scaled_k_tiles)) * Precision::scaled_k_tiles;
  const int in_group = static_cast<int>(std::min<std::int64_t>(Precision::scaled_k_tiles, k_tiles - k_tile));
  const int contracted = k_tile * Precision::k_tile_depth;
  if (!left) {
    const int block = static_cast<int>(n) + first_block;
    return {right_k_tile<Precision>(block, k_tiles, k_tile, units, unit, units2, unit2),
            right_k_tile<Precision>(0, k_tiles, 1, units, 0, units2, 0),
            in_group,
            {unit * first, unit2 * Precision::b_second, block * hole_group_size},
            contracted};
  }
  const auto blocks = static_cast<int>(ceil_div(p.extent[last_hole], hole_group_size));
  const int b2 =
      p.outer == last_hole ? next_digit(ceil_div(p.outer_count, hole_group_size)) + first_block : next_digit(blocks);
  const int b1 = static_cast<int>(n) + (p.outer == last_hole ? 0 : first_block);
  return {left_k_tile<Precision>(b1, blocks, b2, k_tiles, k_tile, units, unit),
          left_k_tile<Precision>(0, blocks, 0, k_tiles, 1, units, 0),
          in_group,
          {unit * first, b1 * hole_group_size, b2 * hole_group_size},
          contracted};
}

/// Packs scale group `n` with `lanes` lanes. The caller is lane number `lane`. `packed`: begin of the whole packed
/// panel. `read(indices)` returns the number at these PackedIndices. Their members `packed` and `slice` are not set.
/// `read` is called only for indices inside the panel. `largest_of_lanes(x)` returns the largest x of all lanes.
template <typename Precision, typename Read, typename Largest>
constexpr TRIFUSE_HOST_DEVICE void pack_scale_group(const Packing& p, std::int64_t n, int lane, int lanes,
                                                    typename Precision::Operand* packed, Read read,
                                                    Largest largest_of_lanes) {
  const ScaleGroup group = scale_group<Precision>(p, n);
  const bool left = p.kind == PanelKind::left;
  constexpr int depth = Precision::k_tile_depth;
  // `line` is a row of A or a column of B.
  const int numbers =
      (left ? Precision::a_particles * Precision::rows : Precision::b_first * Precision::b_second * hole_group_size) *
      depth;
  const auto value = [&](int k_tile, int line, int k) {
    PackedIndices at{
        0, {group.first[0], group.first[1], group.first[2], 0}, group.contracted + k_tile * depth + k, 0, false};
    const UnitLine of_b = Precision::b_line(line);
    at.index[0] += left ? line / Precision::rows : of_b.first;
    at.index[1] += left ? line % Precision::rows / hole_group_size : of_b.second;
    at.index[2] += left ? line % hole_group_size : of_b.hole;
    at.inside = at.contracted < p.contracted;
    for (int q = 0; q < 3; ++q) at.inside = at.inside && at.index[q] < p.extent[q];
    return at.inside ? read(at) : 0.0;
  };
  double largest = 0.0;
  for (int t = 0; t < group.k_tiles; ++t) {
    for (int number = lane; number < numbers; number += lanes) {
      const double x = value(t, number / depth, number % depth), magnitude = x < 0.0 ? -x : x;
      if (magnitude > largest) largest = magnitude;
    }
  }
  const int shift = Precision::shift_for(largest_of_lanes(largest));
  const double factor = Precision::power_of_two(shift);
  const int indices = static_cast<int>(std::min<std::int64_t>(group.k_tiles * depth, p.contracted - group.contracted));
  const bool larger = Precision::makes_up_for_truncation(left, (indices + Precision::k_step - 1) / Precision::k_step);
  const int scale_at = (left ? Precision::a_k_tile : Precision::b_k_tile) - Precision::scale_elements;
  for (int t = 0; t < group.k_tiles; ++t) {
    typename Precision::Operand* const to = packed + group.packed + t * group.k_tile_stride;
    for (int number = lane; number < numbers; number += lanes) {
      const int line = number / depth, k = number % depth;
      const double x = value(t, line, k) * factor;
      for (int slice = 0; slice < Precision::slices; ++slice) {
        to[left ? Precision::a_index(line, k, slice) : Precision::b_index(k, line, slice)] =
            Precision::slice_of(x, slice);
      }
    }
    for (int e = lane; e < Precision::scale_elements; e += lanes) {
      to[scale_at + e] = Precision::scale_element(shift, larger, e);
    }
  }
}

}
