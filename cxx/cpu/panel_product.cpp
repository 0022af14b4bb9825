#include "cxx/cpu/panel_product.hpp"

#include <algorithm>
#include <cstring>

#include "cxx/base/vector_clones.hpp"

namespace trifuse {

namespace {

/// Lanes of the longest strip, and values of x in a block.
constexpr std::int64_t longest_strip = 16, longest_block = 192;
/// Doubles of packed strips, which stay in the cache of the second level.
constexpr std::int64_t most_packed = 32768;
/// Rows of b in a chunk, a multiple of the rows of all tiles.
constexpr std::int64_t chunk = 24;

using Strip = PanelProduct::Strip;

/// Appends the offsets of the rows [x2,x1,x0] of an array.
void append_offsets(const std::array<std::int64_t, 3>& extent, const std::array<std::int64_t, 3>& stride,
                    std::vector<std::int64_t>& offsets) {
  for (std::int64_t x2 = 0; x2 < extent[2]; ++x2)
    for (std::int64_t x1 = 0; x1 < extent[1]; ++x1)
      for (std::int64_t x0 = 0; x0 < extent[0]; ++x0)
        offsets.push_back(x0 * stride[0] + x1 * stride[1] + x2 * stride[2]);
}

/// Writes the strips of `a` in order. `granule`: lanes of the shortest strip.
void list_strips(const ProductRows& a, std::int64_t granule, std::vector<Strip>& strips) {
  const std::int64_t row = row_length(a.extent[0]);
  strips.clear();
  for (std::int64_t x2 = 0; x2 < a.extent[2]; ++x2)
    for (std::int64_t x1 = 0; x1 < a.extent[1]; ++x1)
      for (std::int64_t x0 = 0; x0 < a.extent[0]; x0 += longest_strip) {
        const std::int64_t count = std::min(longest_strip, a.extent[0] - x0),
                           lanes = (count + granule - 1) / granule * granule;
        strips.push_back({lanes, count, x0 + count == a.extent[0] ? row - x0 - lanes : 0, {x0, x1, x2}});
      }
}

/// A chunk of rows of `b` and a strip of `a`.
struct StripProduct {
  const double* packed;  ///< [x, lanes]
  std::int64_t contracted;
  const double* b;           ///< at the first x of the block
  const std::int64_t* rows;  ///< of the chunk
  std::int64_t step;         ///< from one x of b to the next
  std::int64_t row_count;
  const std::int64_t* offsets;  ///< [target, row of b], at the first row of the chunk
  std::int64_t offsets_of_target;
  std::span<const ProductTarget> targets;
  bool first_block;
  const Strip* strip;
};

/// A vector of doubles at any address.
template <int bytes>
struct Vector {
  using Type __attribute__((vector_size(bytes), aligned(8), may_alias)) = double;
};

/// Multiplies a strip with `rows` rows of b.
template <int bytes, int lanes, int rows>
TRIFUSE_ALWAYS_INLINE void multiply_tile(const StripProduct& p, std::int64_t first) {
  using V = typename Vector<bytes>::Type;
  constexpr int width = bytes / 8, vectors = lanes / width;
  constexpr std::int64_t cache_line = 8;
  const auto target_of = [&](std::size_t t, int row) {
    const ProductTarget& target = p.targets[t];
    const auto& [x0, x1, x2] = p.strip->at;
    return target.data + x0 + x1 * target.step[1] + x2 * target.step[2] +
           p.offsets[static_cast<std::int64_t>(t) * p.offsets_of_target + first + row];
  };
  // A target is in the second or third level of the cache.
  for (std::size_t t = 0; t < p.targets.size(); ++t)
    for (int row = 0; row < rows; ++row)
      for (std::int64_t line = 0; line < lanes; line += cache_line) __builtin_prefetch(target_of(t, row) + line, 1);
  const double* b[rows];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) b[row] = p.b + p.rows[first + row];
  V sum[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) sum[row][v] = V{};
  const double* a = p.packed;
  for (std::int64_t x = 0; x < p.contracted * p.step; x += p.step, a += lanes) {
    V of_a[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) of_a[v] = *reinterpret_cast<const V*>(a + v * width);
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      const double of_b = b[row][x];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[row][v] += of_a[v] * of_b;
    }
  }
  for (std::size_t t = 0; t < p.targets.size(); ++t) {
    const double sign = p.targets[t].sign;
    const bool assign = p.targets[t].assign && p.first_block;
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      double* const to = target_of(t, row);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        V& element = *reinterpret_cast<V*>(to + v * width);
        element = assign ? sign * sum[row][v] : element + sign * sum[row][v];
      }
      if (assign) {
        for (std::int64_t n = 0; n < p.strip->behind; ++n) to[lanes + n] = 0.0;
      }
    }
  }
}

template <int bytes, int lanes, int rows>
TRIFUSE_ALWAYS_INLINE void multiply_rows(const StripProduct& p) {
  std::int64_t first = 0;
  for (; first + rows <= p.row_count; first += rows) multiply_tile<bytes, lanes, rows>(p, first);
  for (; first < p.row_count; ++first) multiply_tile<bytes, lanes, 1>(p, first);
}

/// Multiplies a strip of 4, 8, 12 or 16 lanes in tiles that have 12 vectors of sums, as far as they fit.
template <int bytes>
TRIFUSE_ALWAYS_INLINE void multiply_twelve_sums(const StripProduct& p) {
  constexpr int sums = 12, width = bytes / 8;
  if (p.strip->lanes == 16) return multiply_rows<bytes, 16, sums * width / 16>(p);
  if (p.strip->lanes == 12) return multiply_rows<bytes, 12, sums * width / 12>(p);
  if (p.strip->lanes == 8) return multiply_rows<bytes, 8, sums * width / 8>(p);
  multiply_rows<bytes, 4, sums * width / 4>(p);
}

/// Packs four rows of `a`, to[x, lanes].
TRIFUSE_ALWAYS_INLINE void pack_four(const double* row, std::int64_t stride, std::int64_t contracted,
                                     std::int64_t lanes, double* to) {
  using V = Vector<32>::Type;
  const double *r0 = row, *r1 = row + stride, *r2 = row + 2 * stride, *r3 = row + 3 * stride;
  const auto load = [](const double* from) -> const V& { return *reinterpret_cast<const V*>(from); };
  std::int64_t x = 0;
  for (; x + 4 <= contracted; x += 4, to += 4 * lanes) {
    // Transposes four by four numbers.
    const V even01 = __builtin_shufflevector(load(r0 + x), load(r1 + x), 0, 4, 2, 6),
            odd01 = __builtin_shufflevector(load(r0 + x), load(r1 + x), 1, 5, 3, 7),
            even23 = __builtin_shufflevector(load(r2 + x), load(r3 + x), 0, 4, 2, 6),
            odd23 = __builtin_shufflevector(load(r2 + x), load(r3 + x), 1, 5, 3, 7);
    *reinterpret_cast<V*>(to) = __builtin_shufflevector(even01, even23, 0, 1, 4, 5);
    *reinterpret_cast<V*>(to + lanes) = __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5);
    *reinterpret_cast<V*>(to + 2 * lanes) = __builtin_shufflevector(even01, even23, 2, 3, 6, 7);
    *reinterpret_cast<V*>(to + 3 * lanes) = __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7);
  }
  for (; x < contracted; ++x, to += lanes) {
    to[0] = r0[x];
    to[1] = r1[x];
    to[2] = r2[x];
    to[3] = r3[x];
  }
}

/// Packs the rows of a strip, to[x, lanes]. Lanes without a row become zero.
TRIFUSE_ALWAYS_INLINE void pack_strip(const ProductRows& a, const Strip& strip, std::int64_t begin,
                                      std::int64_t contracted, double* to) {
  const double* row = a.data + begin;
  for (std::size_t q = 0; q < 3; ++q) row += strip.at[q] * a.stride[q];
  std::int64_t lane = 0;
  for (; lane + 4 <= strip.count; lane += 4)
    pack_four(row + lane * a.stride[0], a.stride[0], contracted, strip.lanes, to + lane);
  for (; lane < strip.lanes; ++lane) {
    for (std::int64_t x = 0; x < contracted; ++x)
      to[x * strip.lanes + lane] = lane < strip.count ? row[lane * a.stride[0] + x] : 0.0;
  }
}

/// Copies `count` numbers. The compiler knows the size if it is `usual`.
template <std::int64_t usual>
void copy_some(const double* from, std::int64_t count, double* to) {
  if (count == usual) {
    std::memcpy(to, from, usual * sizeof(double));
  } else {
    for (std::int64_t n = 0; n < count; ++n) to[n] = from[n];
  }
}

/// Packs the columns of a strip, to[row, lanes]. `rows`: offsets of the rows. Lanes without a column become zero.
void pack_columns(const double* data, const Strip& strip, std::span<const std::int64_t> rows, double* to) {
  for (const std::int64_t row : rows) {
    const double* const from = data + row + strip.at[0];
    copy_some<longest_strip>(from, strip.count, to);
    std::fill(to + strip.count, to + strip.lanes, 0.0);
    to += strip.lanes;
  }
}

/// The functions for vectors of one width.
struct VectorKernel {
  std::int64_t granule;  ///< lanes of the shortest strip
  void (*pack)(const ProductRows& a, const Strip& strip, std::int64_t begin, std::int64_t contracted, double* to);
  void (*multiply)(const StripProduct& p);
};

// Tiles have 12 sums in vectors of 256 bits, 16 in those of 512, so that 16 and 32 registers suffice and more sums than
// the latency of an addition are under way.
#if defined(__x86_64__)
#define TRIFUSE_TARGET(features) __attribute__((target(features)))

TRIFUSE_TARGET("avx512f,fma")
void pack_512(const ProductRows& a, const Strip& strip, std::int64_t begin, std::int64_t contracted, double* to) {
  pack_strip(a, strip, begin, contracted, to);
}
TRIFUSE_TARGET("avx512f,fma")
void multiply_512(const StripProduct& p) {
  if (p.strip->lanes == 16) return multiply_rows<64, 16, 8>(p);
  multiply_rows<64, 8, 8>(p);
}

TRIFUSE_TARGET("avx2,fma")
void pack_256(const ProductRows& a, const Strip& strip, std::int64_t begin, std::int64_t contracted, double* to) {
  pack_strip(a, strip, begin, contracted, to);
}
TRIFUSE_TARGET("avx2,fma")
void multiply_256(const StripProduct& p) {
  multiply_twelve_sums<32>(p);
}
#endif

void pack_128(const ProductRows& a, const Strip& strip, std::int64_t begin, std::int64_t contracted, double* to) {
  pack_strip(a, strip, begin, contracted, to);
}
void multiply_128(const StripProduct& p) {
  multiply_twelve_sums<16>(p);
}

VectorKernel kernel_for(int width) {
#if defined(__x86_64__)
  if (width == 512) return {8, pack_512, multiply_512};
  if (width == 256) return {4, pack_256, multiply_256};
#endif
  return {4, pack_128, multiply_128};
}

/// What multiply_strips() needs to know about rows of b.
struct RowsOfB {
  const double* begin;       ///< at the first x of a block
  const std::int64_t* rows;  ///< see StripProduct
  std::int64_t step;
};

/// The loops of PanelProduct. `packed`: room for strips. `offsets`: [target, row of b] in the targets, `count` rows.
/// `pack(strip, begin, length, to)` packs a strip for a block of x. `rows_of(row, count, begin, length)` returns the
/// RowsOfB of a chunk that begins with `row`.
template <typename Pack, typename RowsOf>
void multiply_strips(const VectorKernel& kernel, std::span<const Strip> strips, std::span<double> packed,
                     std::int64_t contracted, std::int64_t count, const std::int64_t* offsets,
                     std::span<const ProductTarget> targets, Pack pack, RowsOf rows_of) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (contracted + longest_block - 1) / longest_block);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * contracted / blocks, length = (block + 1) * contracted / blocks - begin;
    const std::size_t together =
        packed.size() / static_cast<std::size_t>(longest_strip * std::max<std::int64_t>(1, length));
    for (std::size_t first = 0; first < strips.size(); first += together) {
      const std::span<const Strip> some = strips.subspan(first, std::min(together, strips.size() - first));
      const auto of_strip = [&](std::size_t n) {
        return packed.data() + static_cast<std::int64_t>(n) * longest_strip * length;
      };
      for (std::size_t n = 0; n < some.size(); ++n) pack(some[n], begin, length, of_strip(n));
      for (std::int64_t row = 0; row < count; row += chunk) {
        const std::int64_t rows = std::min(chunk, count - row);
        const RowsOfB b = rows_of(row, rows, begin, length);
        for (std::size_t n = 0; n < some.size(); ++n) {
          kernel.multiply({of_strip(n), length, b.begin, b.rows, b.step, rows, offsets + row, count, targets,
                           block == 0, &some[n]});
        }
      }
    }
  }
}

}

std::span<const int> PanelProduct::vector_widths() {
  static constexpr std::array widths = {512, 256, 128};
  const std::span<const int> all(widths);
#if defined(__x86_64__)
#ifndef __SANITIZE_ADDRESS__  // with it GCC 12 does not align vectors of 64 bytes on the stack, and reads of them trap
  if (__builtin_cpu_supports("avx512f")) return all;
#endif
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return all.subspan(1);
#endif
  return all.subspan(2);
}

std::int64_t PanelProduct::scratch_doubles(std::int64_t rows, std::int64_t row, std::int64_t contracted) {
  const std::int64_t strips = rows * ((row + longest_strip - 1) / longest_strip);
  return std::min(most_packed, strips * longest_strip * std::clamp<std::int64_t>(contracted, 1, longest_block));
}

PanelProduct::PanelProduct(std::int64_t scratch, int vector_width)
    : vector_width_(vector_width), packed_(static_cast<std::size_t>(scratch)) {}

void PanelProduct::add(const ProductRows& a, const ProductRows& b, std::int64_t contracted,
                       std::span<const ProductTarget> targets) {
  const VectorKernel kernel = kernel_for(vector_width_);
  const std::int64_t count = b.count();
  rows_.clear();
  offsets_.clear();
  append_offsets(b.extent, b.stride, rows_);
  for (const ProductTarget& target : targets)
    append_offsets(b.extent, {target.step[3], target.step[4], target.step[5]}, offsets_);
  list_strips(a, kernel.granule, strips_);

  multiply_strips(
      kernel, strips_, packed_.span(), contracted, count, offsets_.data(), targets,
      [&](const Strip& strip, std::int64_t begin, std::int64_t length, double* to) {
        kernel.pack(a, strip, begin, length, to);
      },
      [&](std::int64_t row, std::int64_t, std::int64_t begin, std::int64_t) {
        return RowsOfB{b.data + begin, rows_.data() + row, 1};
      });
}

void PanelProduct::multiply(const MatrixView& s, const ProductRows& p, std::int64_t columns, double* out) {
  const VectorKernel kernel = kernel_for(vector_width_);
  const bool contiguous = s.column_step == 1;
  rows_.clear();
  offsets_.clear();
  summed_.clear();
  append_offsets({s.rows, 1, 1}, {contiguous ? s.row_step : 1, 0, 0}, rows_);
  append_offsets({s.rows, 1, 1}, {row_length(columns), 0, 0}, offsets_);
  append_offsets(p.extent, p.stride, summed_);
  list_strips({nullptr, {columns, 1, 1}, {}}, kernel.granule, strips_);
  const ProductTarget target{out, {1, 0, 0, 0, 0, 0}, 1.0, true};
  multiply_strips(
      kernel, strips_, packed_.span(), s.columns, s.rows, offsets_.data(), {&target, 1},
      [&](const Strip& strip, std::int64_t begin, std::int64_t length, double* to) {
        pack_columns(p.data, strip,
                     std::span(summed_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)), to);
      },
      [&](std::int64_t row, std::int64_t count, std::int64_t begin, std::int64_t length) {
        if (contiguous) return RowsOfB{s.data + begin, rows_.data() + row, 1};
        chunk_.resize(static_cast<std::size_t>(chunk * length));
        double* to = chunk_.data();
        for (std::int64_t x = begin; x < begin + length; ++x, to += chunk)
          copy_some<chunk>(s.data + x * s.column_step + row, count, to);
        return RowsOfB{chunk_.data(), rows_.data(), chunk};
      });
}

}
