#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define TRIFUSE_HOST_DEVICE __host__ __device__
#else
#define TRIFUSE_HOST_DEVICE
#endif

/// How operands lie in device memory. Host code, kernels and tests share these index maps.
///
/// The matrix instruction takes 16 rows of A and 8 columns of B. Rows are 4 x 4 of two hole indices, columns are 4 of
/// one hole index times 2 of one particle index; every other index of an operand counts fragments. A chunk is a
/// fragment's rows or columns times `depth` inner indices in the order in which the lanes of a warp read them, so
/// that a 16-byte load gives a lane what one instruction needs, without bank conflicts and without moves.
///
///     left panel  (p, h, h')   [block of h][block of h'][inner chunk][p]        chunk of (h, h') rows
///     right panel (p, p', h)   [block of h][inner chunk][p][pair of p']         chunk of (h, p') columns
///     pairs (p, p', h, h')     [block of h][block of h'][p][p']                 4 x 4 of (h, h'), h' fastest
///
/// The order of two indices of one kind is that of their positions in a task.
namespace trifuse::gpu {

/// Hole indices are cut into blocks of this many; what is missing at the end of a tile is zero.
inline constexpr int hole_block = 4;
/// Particles that share a column fragment.
inline constexpr int pair = 2;

constexpr TRIFUSE_HOST_DEVICE std::int64_t blocks(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

/// Operands in double precision, for instructions whose fragments are those of m16n8k8 (two k steps of four).
struct Fp64 {
  using Operand = double;
  using Accumulator = double;
  static constexpr int rows = 16, columns = 8;
  static constexpr int step = 8;         ///< inner indices of one instruction
  static constexpr int chunk_steps = 2;  ///< steps of a chunk
  static constexpr int depth = step * chunk_steps;
  static constexpr int a_chunk = rows * depth, b_chunk = columns * depth;  ///< elements

  /// Place of (row, inner index) in a chunk of A: lane-linear pairs (row, row + 8), k halves one after the other.
  static constexpr TRIFUSE_HOST_DEVICE int a_index(int row, int k) {
    const int lane = row % 8 * 4 + k % 4;
    return (k / 4 * 32 + lane) * 2 + row / 8;
  }
  /// Place of (inner index, column) in a chunk of B: lane-linear pairs (k, k + 4).
  static constexpr TRIFUSE_HOST_DEVICE int b_index(int k, int column) {
    const int lane = column * 4 + k % 4;
    return (k / step * 32 + lane) * 2 + k % step / 4;
  }
  /// The other way round.
  static constexpr TRIFUSE_HOST_DEVICE int a_row(int element) { return element % 64 / 8 + element % 2 * 8; }
  static constexpr TRIFUSE_HOST_DEVICE int a_inner(int element) { return element / 64 * 4 + element % 8 / 2; }
  static constexpr TRIFUSE_HOST_DEVICE int b_column(int element) { return element % 64 / 8; }
  static constexpr TRIFUSE_HOST_DEVICE int b_inner(int element) {
    return element / 64 * step + element % 2 * 4 + element % 8 / 2;
  }
};

enum class PanelKind : std::uint8_t { left, right, pairs };

/// A panel on its way from the host, where its rows stand apart by strides, to the device. Positions of extents and
/// strides: left p, h, h'; right p, p', h; pairs p, p', h, h'. Only hole indices [outer_begin, outer_begin +
/// outer_count) of position `outer` are in the raw data at hand; outer_begin is a multiple of `hole_block`.
struct Packing {
  PanelKind kind;
  std::int32_t extent[4];
  std::int64_t stride[4];  ///< doubles in the raw data
  std::int32_t inner;      ///< inner indices, contiguous in the raw data
  std::int32_t outer, outer_begin, outer_count;
};

template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t chunks(std::int64_t inner) {
  return blocks(inner, Precision::depth);
}

/// Elements of a packed panel.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t packed_size(const Packing& p) {
  switch (p.kind) {
    case PanelKind::left:
      return blocks(p.extent[1], hole_block) * blocks(p.extent[2], hole_block) * chunks<Precision>(p.inner) *
             p.extent[0] * Precision::a_chunk;
    case PanelKind::right:
      return blocks(p.extent[2], hole_block) * chunks<Precision>(p.inner) * p.extent[0] * blocks(p.extent[1], pair) *
             Precision::b_chunk;
    case PanelKind::pairs:
      break;
  }
  return blocks(p.extent[2], hole_block) * blocks(p.extent[3], hole_block) * p.extent[0] * p.extent[1] *
         (hole_block * hole_block);
}

/// First element of the chunks [p] that belong to a pair of hole blocks and an inner chunk of a left panel.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t left_chunk(std::int64_t h1_block, std::int64_t h2_blocks,
                                                      std::int64_t h2_block, std::int64_t inner_chunks,
                                                      std::int64_t inner_chunk, std::int64_t particles,
                                                      std::int64_t p) {
  return (((h1_block * h2_blocks + h2_block) * inner_chunks + inner_chunk) * particles + p) * Precision::a_chunk;
}

/// First element of the chunks [pair of p'] that belong to a hole block, an inner chunk and a particle p of a right
/// panel.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t right_chunk(std::int64_t h_block, std::int64_t inner_chunks,
                                                       std::int64_t inner_chunk, std::int64_t particles, std::int64_t p,
                                                       std::int64_t pairs, std::int64_t p2_pair) {
  return (((h_block * inner_chunks + inner_chunk) * particles + p) * pairs + p2_pair) * Precision::b_chunk;
}

/// First element of the 4 x 4 holes of two particles.
constexpr TRIFUSE_HOST_DEVICE std::int64_t pair_block(std::int64_t h1_block, std::int64_t h2_blocks,
                                                      std::int64_t h2_block, std::int64_t p1s, std::int64_t p1,
                                                      std::int64_t p2s, std::int64_t p2) {
  return (((h1_block * h2_blocks + h2_block) * p1s + p1) * p2s + p2) * (hole_block * hole_block);
}

/// One element of a packed panel: its place there, and which one it is.
struct PackedPlace {
  std::int64_t packed;
  int index[4];  ///< of the positions of `Packing`
  int inner;
  bool inside;  ///< false: zero, the element only fills a fragment
};

/// The n-th element of the part of a packed panel that the raw data at hand fills.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE PackedPlace packed_place(const Packing& p, std::int64_t n) {
  const int outer_blocks = static_cast<int>(blocks(p.outer_count, hole_block));
  const int first_block = p.outer_begin / hole_block;
  // Blocks at hand of each hole position.
  const auto at_hand = [&](int position) {
    return position == p.outer ? outer_blocks : static_cast<int>(blocks(p.extent[position], hole_block));
  };
  const auto shift = [&](int position) { return position == p.outer ? first_block : 0; };
  const auto take = [&n](std::int64_t size) {
    const std::int64_t digit = n % size;
    n /= size;
    return static_cast<int>(digit);
  };
  int index[4] = {0, 0, 0, 0};  // of the positions
  int k = 0;
  std::int64_t packed = 0;
  if (p.kind == PanelKind::left) {
    const int element = take(Precision::a_chunk);
    index[0] = take(p.extent[0]);
    const int inner_chunk = take(chunks<Precision>(p.inner));
    const int b2 = take(at_hand(2)) + shift(2), b1 = static_cast<int>(n) + shift(1);
    const int row = Precision::a_row(element);
    k = Precision::a_inner(element);
    index[1] = b1 * hole_block + row / hole_block;
    index[2] = b2 * hole_block + row % hole_block;
    packed = left_chunk<Precision>(b1, blocks(p.extent[2], hole_block), b2, chunks<Precision>(p.inner), inner_chunk,
                                   p.extent[0], index[0]) +
             element;
    k += inner_chunk * Precision::depth;
  } else if (p.kind == PanelKind::right) {
    const int element = take(Precision::b_chunk);
    const int pairs = static_cast<int>(blocks(p.extent[1], pair));
    const int p2_pair = take(pairs);
    index[0] = take(p.extent[0]);
    const int inner_chunk = take(chunks<Precision>(p.inner));
    const int block = static_cast<int>(n) + shift(2);
    const int column = Precision::b_column(element);
    k = Precision::b_inner(element);
    index[1] = p2_pair * pair + column % pair;
    index[2] = block * hole_block + column / pair;
    packed =
        right_chunk<Precision>(block, chunks<Precision>(p.inner), inner_chunk, p.extent[0], index[0], pairs, p2_pair) +
        element;
    k += inner_chunk * Precision::depth;
  } else {
    const int element = take(hole_block * hole_block);
    index[1] = take(p.extent[1]);
    index[0] = take(p.extent[0]);
    const int b2 = take(at_hand(3)) + shift(3), b1 = static_cast<int>(n) + shift(2);
    index[2] = b1 * hole_block + element / hole_block;
    index[3] = b2 * hole_block + element % hole_block;
    packed =
        pair_block(b1, blocks(p.extent[3], hole_block), b2, p.extent[0], index[0], p.extent[1], index[1]) + element;
  }
  bool inside = p.kind == PanelKind::pairs || k < p.inner;
  for (int q = 0; q < (p.kind == PanelKind::pairs ? 4 : 3); ++q) inside = inside && index[q] < p.extent[q];
  return {packed, {index[0], index[1], index[2], index[3]}, k, inside};
}

/// One element: where it lies in the packed panel and in the raw data.
struct PackedElement {
  std::int64_t packed;
  std::int64_t raw;  ///< -1: zero
};

template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE PackedElement packed_element(const Packing& p, std::int64_t n) {
  const PackedPlace place = packed_place<Precision>(p, n);
  std::int64_t raw = place.inner;
  for (int q = 0; q < (p.kind == PanelKind::pairs ? 4 : 3); ++q) {
    raw += (place.index[q] - (q == p.outer ? p.outer_begin : 0)) * p.stride[q];
  }
  return {place.packed, place.inside ? raw : -1};
}

/// Elements of the packed panel that the raw data at hand fills.
template <typename Precision>
constexpr TRIFUSE_HOST_DEVICE std::int64_t packed_size_at_hand(const Packing& p) {
  Packing part = p;
  part.extent[p.outer] = p.outer_count;
  return packed_size<Precision>(part);
}

}  // namespace trifuse::gpu
