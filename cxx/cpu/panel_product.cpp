#include "cxx/cpu/panel_product.hpp"

#include <algorithm>

#include "cxx/base/vector_clones.hpp"

namespace trifuse {

namespace {

/// Lanes of the longest strip, and values of x in a block.
constexpr std::int64_t longest_strip = 16, longest_block = 192;
/// Doubles of packed strips, which stay in the cache of the second level.
constexpr std::int64_t most_packed = 32768;

using Strip = PanelProduct::Strip;

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
  for (std::int64_t x = 0; x < p.contracted; ++x, a += lanes) {
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

/// The functions for vectors of one width.
struct VectorKernel {
  std::int64_t granule;  ///< lanes of the shortest strip
  std::int64_t chunk;    ///< rows of b in a chunk, a multiple of the rows of all tiles
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
  if (width == 512) return {8, 16, pack_512, multiply_512};
  if (width == 256) return {4, 12, pack_256, multiply_256};
#endif
  return {4, 12, pack_128, multiply_128};
}

}

std::span<const int> PanelProduct::vector_widths() {
  static constexpr std::array widths = {512, 256, 128};
  const std::span<const int> all(widths);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return all;
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
  const auto for_rows_of_b = [&](auto function) {
    for (std::int64_t x2 = 0; x2 < b.extent[2]; ++x2)
      for (std::int64_t x1 = 0; x1 < b.extent[1]; ++x1)
        for (std::int64_t x0 = 0; x0 < b.extent[0]; ++x0) function(x0, x1, x2);
  };
  for_rows_of_b(
      [&](auto x0, auto x1, auto x2) { rows_.push_back(x0 * b.stride[0] + x1 * b.stride[1] + x2 * b.stride[2]); });
  for (const ProductTarget& target : targets) {
    for_rows_of_b([&](auto x0, auto x1, auto x2) {
      offsets_.push_back(x0 * target.step[3] + x1 * target.step[4] + x2 * target.step[5]);
    });
  }
  list_strips(a, kernel.granule, strips_);

  const std::int64_t blocks = std::max<std::int64_t>(1, (contracted + longest_block - 1) / longest_block);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * contracted / blocks, length = (block + 1) * contracted / blocks - begin;
    const std::size_t together =
        packed_.size() / static_cast<std::size_t>(longest_strip * std::max<std::int64_t>(1, length));
    for (std::size_t first = 0; first < strips_.size(); first += together) {
      const std::span<const Strip> some = std::span(strips_).subspan(first, std::min(together, strips_.size() - first));
      for (std::size_t n = 0; n < some.size(); ++n)
        kernel.pack(a, some[n], begin, length, packed_.data() + static_cast<std::int64_t>(n) * longest_strip * length);
      for (std::int64_t row = 0; row < count; row += kernel.chunk) {
        for (std::size_t n = 0; n < some.size(); ++n) {
          kernel.multiply({packed_.data() + static_cast<std::int64_t>(n) * longest_strip * length, length,
                           b.data + begin, rows_.data() + row, std::min(kernel.chunk, count - row),
                           offsets_.data() + row, count, targets, block == 0, &some[n]});
        }
      }
    }
  }
}

}
