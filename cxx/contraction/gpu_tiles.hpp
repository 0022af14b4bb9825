#pragma once

#include <array>
#include <cstdint>

#include "cxx/contraction/description.hpp"

/// How a contraction is divided into tiles for a GPU. Kernels and the tests of plans call the same functions, so a plan
/// is tested without a GPU. All offsets are in elements and fit into 32 bits.
namespace trifuse::contraction {

/// A division by a number that is known before, as a multiplication (Granlund and Montgomery, PLDI 1994).
class Divisor {
 public:
  constexpr Divisor() = default;
  /// `number`: at least 1.
  explicit constexpr Divisor(std::int32_t number) : number_(number) {
    while ((std::uint64_t{1} << shift_) < static_cast<std::uint64_t>(number)) ++shift_;
    const std::uint64_t more = (std::uint64_t{1} << shift_) - static_cast<std::uint64_t>(number);
    factor_ = static_cast<std::uint32_t>((more << 32) / static_cast<std::uint64_t>(number) + 1);
  }
  /// Divides `n`, which must not be negative.
  struct Result {
    std::int32_t quotient, remainder;
  };
  constexpr Result divide(std::int32_t n) const {
    const auto unsigned_n = static_cast<std::uint32_t>(n);
    const auto high = static_cast<std::uint32_t>(std::uint64_t{unsigned_n} * factor_ >> 32);
    const auto quotient = static_cast<std::int32_t>((high + unsigned_n) >> shift_);
    return {quotient, n - quotient * number_};
  }
  constexpr std::int32_t number() const { return number_; }

 private:
  std::int32_t number_ = 1;
  std::uint32_t factor_ = 1, shift_ = 0;
};

/// Rows are the values of the external indices of one operand, columns those of the other. A tile has some values of
/// each index. The last tile of an index ends with the last value, so it may reach back over values of the tile before;
/// these are stored once.
struct TileGrid {
  struct Axis {
    Divisor tiles;         ///< number of tiles along this index
    std::int32_t values;   ///< values of the index in a tile
    std::int32_t last;     ///< first value of the last tile
    std::int32_t operand;  ///< offset from one value to the next in the operand
    std::int32_t c;        ///< the same in C
  };
  std::int32_t axes = 0;
  std::int32_t tiles = 1;  ///< product of Axis::tiles
  std::array<Axis, max_indices> axis{};
};

/// A row or a column of a tile, counted from the first one of the tile.
struct Line {
  std::int32_t operand, c;  ///< offsets
  /// Bit n: not stored if the tile is the last one along axis n. Bit `no_line`: not stored.
  std::uint32_t hidden;
};
inline constexpr std::uint32_t no_line = 31;

/// The first row or column of a tile.
struct TileOrigin {
  std::int32_t operand, c;
  std::uint32_t hidden;  ///< lines with one of these bits in Line::hidden are not stored
};

/// Returns the origin of a tile. The first axis is the fastest.
constexpr TileOrigin tile_origin(const TileGrid& grid, std::int32_t tile) {
  TileOrigin origin{0, 0, 1u << no_line};
  for (std::int32_t n = 0; n < grid.axes; ++n) {
    const TileGrid::Axis& axis = grid.axis[static_cast<std::size_t>(n)];
    const auto [rest, number] = axis.tiles.divide(tile);
    tile = rest;
    std::int32_t first = number * axis.values;
    if (first > axis.last) {
      first = axis.last;
      origin.hidden |= 1u << n;
    }
    origin.operand += first * axis.operand;
    origin.c += first * axis.c;
  }
  return origin;
}

/// Values of indices that are not divided into tiles: batch indices, and contracted indices outside the table of
/// offsets.
struct OuterSpace {
  struct Axis {
    Divisor extent;
    std::array<std::int32_t, 3> stride;  ///< [rows, columns, C]
  };
  std::int32_t axes = 0;
  std::int32_t size = 1;  ///< product of the extents
  std::array<Axis, max_indices> axis{};
};

/// Returns [rows, columns, C]: offsets of a combination of values. The first axis is the fastest.
constexpr std::array<std::int32_t, 3> outer_offset(const OuterSpace& space, std::int32_t number) {
  std::array<std::int32_t, 3> offset{};
  for (std::int32_t n = 0; n < space.axes; ++n) {
    const OuterSpace::Axis& axis = space.axis[static_cast<std::size_t>(n)];
    const auto [rest, value] = axis.extent.divide(number);
    number = rest;
    for (std::size_t t = 0; t < 3; ++t) offset[t] += value * axis.stride[t];
  }
  return offset;
}

/// A tile of C: its row tile, its column tile and its values of the batch indices.
struct TileNumber {
  std::int32_t row, column, batch;
};

/// The tiles of C and their order. Groups of `group` column tiles follow each other; inside a group all column tiles of
/// a row tile follow each other.
class TileOrder {
 public:
  constexpr TileOrder() = default;
  /// `rows`, `columns`, `batch`: numbers of tiles, and of combinations of batch values.
  constexpr TileOrder(std::int32_t rows, std::int32_t columns, std::int32_t batch, std::int32_t group)
      : rows_(rows),
        columns_(columns),
        batch_(batch),
        matrix_(rows * columns),
        in_group_(rows * (group < columns ? group : columns)),
        group_(group < columns ? group : columns),
        last_group_(columns % group_.number() == 0 ? group_.number() : columns % group_.number()) {}

  constexpr std::int32_t size() const { return rows_ * columns_ * batch_; }
  constexpr TileNumber at(std::int32_t number) const {
    const auto [batch, inside] = matrix_.divide(number);
    const auto [group, rest] = in_group_.divide(inside);
    const std::int32_t first = group * group_.number();
    const auto [row, column] = (columns_ - first < group_.number() ? last_group_ : group_).divide(rest);
    return {row, first + column, batch};
  }

 private:
  std::int32_t rows_ = 1, columns_ = 1, batch_ = 1;
  Divisor matrix_, in_group_, group_, last_group_;
};

/// A part of the sum of a tile.
struct Segment {
  std::int32_t tile;
  std::int32_t begin, end;  ///< steps of the contracted indices
  std::int32_t partial;     ///< where the part of the sum is stored; -1 if it is the whole sum
};

/// The segments of one CTA. The first tiles are computed as a whole, one for each CTA in each wave. The steps of the
/// remaining tiles are divided evenly between the CTAs, so a CTA has at most two tiles of which it computes a part.
class Segments {
 public:
  /// `tiles`, `steps`: number of tiles and of the steps of each one. `waves`: number of waves of whole tiles.
  constexpr Segments(std::int32_t tiles, std::int32_t steps, std::int32_t waves, std::int32_t cta, std::int32_t ctas)
      : tiles_(tiles), steps_(steps), whole_(waves * ctas), cta_(cta), ctas_(ctas), tile_(cta) {
    if (tiles_ > whole_) {
      const std::int64_t begin = begin_of(tiles_ - whole_, steps_, cta_, ctas_);
      left_ = begin_of(tiles_ - whole_, steps_, cta_ + 1, ctas_) - begin;
      next_tile_ = whole_ + static_cast<std::int32_t>(begin / steps_);
      next_step_ = static_cast<std::int32_t>(begin % steps_);
    }
  }
  /// Returns the next segment. Its tile is -1 after the last one.
  constexpr Segment next() {
    if (tile_ < whole_ && tile_ < tiles_) {
      const Segment segment{tile_, 0, steps_, -1};
      tile_ += ctas_;
      return segment;
    }
    if (left_ <= 0) return {-1, 0, 0, -1};
    const std::int32_t most = steps_ - next_step_;
    const std::int32_t count = left_ < most ? static_cast<std::int32_t>(left_) : most;
    const Segment segment{next_tile_, next_step_, next_step_ + count,
                          count == steps_ ? -1 : 2 * cta_ + (next_step_ > 0 ? 0 : 1)};
    left_ -= count;
    next_step_ = 0;
    ++next_tile_;
    return segment;
  }
  /// First step of a CTA, counted over `tiles` tiles of `steps` steps.
  static constexpr std::int64_t begin_of(std::int64_t tiles, std::int64_t steps, std::int64_t cta, std::int64_t ctas) {
    return tiles * steps * cta / ctas;
  }

 private:
  std::int32_t tiles_, steps_, whole_, cta_, ctas_, tile_;
  std::int32_t next_tile_ = 0, next_step_ = 0;
  std::int64_t left_ = 0;
};

/// The arrangement of an operand's tile in shared memory.
enum class Arrangement {
  k_fastest,     ///< for an operand whose contiguous index is contracted
  line_fastest,  ///< for the others
};

/// The kernels.
enum class KernelKind {
  plain,     ///< ordinary multiply-adds; for any GPU
  small,     ///< ordinary multiply-adds; a thread computes some elements of a small tile; for any GPU
  by_warps,  ///< matrix instructions; a warp computes a small tile; for compute capability 9.0
  /// Four warps fill a ring with steps of the sum. The others multiply by FP64 matrix instructions of 16 rows and 8
  /// columns. For compute capability 9.0.
  pipelined,
};

/// Warps that fill the ring of a pipelined kernel.
inline constexpr std::int32_t filling_warps = 4;

/// A kernel as a plan sees it.
struct KernelShape {
  KernelKind kind;
  std::int32_t rows, columns;  ///< of a tile
  /// Warps that multiply. Of `small`: rows and columns of a thread. Of `by_warps`: fragments of 16 rows and of 8
  /// columns.
  std::int32_t row_warps, column_warps;
  std::int32_t step;   ///< contracted values of a step; of `small` and `by_warps`: the most values that a sum may have
  std::int32_t slots;  ///< of the ring
  std::int32_t ctas;   ///< CTAs that a multiprocessor can hold
};

/// All kernels. A pipelined one is compiled for each arrangement of both operands.
inline constexpr std::array kernel_shapes = {
    KernelShape{KernelKind::plain, 64, 64, 8, 1, 8, 1, 4},
    KernelShape{KernelKind::small, 32, 32, 4, 2, 64, 1, 4},
    KernelShape{KernelKind::by_warps, 16, 8, 1, 1, 16, 1, 4},
    KernelShape{KernelKind::pipelined, 128, 128, 4, 2, 16, 4, 1},
    KernelShape{KernelKind::pipelined, 96, 96, 2, 2, 16, 3, 2},
    KernelShape{KernelKind::pipelined, 64, 64, 2, 2, 24, 4, 2},
    KernelShape{KernelKind::pipelined, 64, 96, 2, 2, 24, 3, 2},
    KernelShape{KernelKind::pipelined, 64, 104, 4, 1, 16, 3, 2},
    KernelShape{KernelKind::pipelined, 128, 72, 4, 1, 8, 6, 2},
    KernelShape{KernelKind::pipelined, 96, 64, 2, 2, 24, 3, 2},
    KernelShape{KernelKind::pipelined, 32, 128, 1, 4, 16, 4, 2},
    KernelShape{KernelKind::pipelined, 32, 128, 1, 4, 24, 3, 2},
    KernelShape{KernelKind::pipelined, 32, 32, 2, 2, 32, 5, 2},
};

/// Doubles from one line to the next, or from one contracted value to the next, of a tile in shared memory. Lanes that
/// read a fragment then use different banks. `lines`, `k`: extents of the tile.
constexpr std::int32_t tile_stride(Arrangement arrangement, std::int32_t lines, std::int32_t k) {
  if (arrangement == Arrangement::line_fastest) return lines + 2;
  return k % 16 == 8 ? k : (k + 15) / 16 * 16 + 8;
}
/// Size of a tile in shared memory, doubles.
constexpr std::int32_t tile_doubles(Arrangement arrangement, std::int32_t lines, std::int32_t k) {
  return (arrangement == Arrangement::line_fastest ? k : lines) * tile_stride(arrangement, lines, k);
}

}
