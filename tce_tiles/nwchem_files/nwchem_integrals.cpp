#include "tce_tiles/nwchem_files/nwchem_integrals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cxx/base/buffer.hpp"

namespace trifuse {

namespace {

std::size_t u(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Writes sign * in to `out`, or adds it, with permuted axes. `in` is dense; its axis 0 is the fastest, so its shape in
/// C order is in[dims[3],dims[2],dims[1],dims[0]]. `strides[k]` is the stride of axis k in `out`; one of them is 1. The
/// function copies squares of axis 0 and of the axis that is fastest in `out`, so that it uses whole cache lines of
/// both.
template <bool add>
void permute(const double* in, double* out, std::array<std::int64_t, 4> dims, std::array<std::int64_t, 4> strides,
             double sign) {
  const auto move = [sign](double& to, double from) {
    if constexpr (add)
      to += sign * from;
    else
      to = sign * from;
  };
  const std::array<std::int64_t, 4> in_strides = {1, dims[0], dims[0] * dims[1], dims[0] * dims[1] * dims[2]};
  const std::size_t fast = u(std::find(strides.begin(), strides.end(), 1) - strides.begin());
  // The axes that are not in the squares. If axis 0 is the fastest axis on both sides, there are three of them, and
  // whole rows are copied instead of squares.
  std::array<std::size_t, 3> outer{};
  std::size_t count = 0;
  for (std::size_t d = 1; d < 4; ++d) {
    if (d != fast) outer[count++] = d;
  }
  const std::int64_t outer2 = count == 3 ? dims[outer[2]] : 1;
  const std::int64_t in2 = count == 3 ? in_strides[outer[2]] : 0;
  const std::int64_t out2 = count == 3 ? strides[outer[2]] : 0;
  constexpr std::int64_t edge = 16;
  for (std::int64_t c = 0; c < outer2; ++c) {
    for (std::int64_t b = 0; b < dims[outer[1]]; ++b) {
      for (std::int64_t a = 0; a < dims[outer[0]]; ++a) {
        const double* from = in + a * in_strides[outer[0]] + b * in_strides[outer[1]] + c * in2;
        double* to = out + a * strides[outer[0]] + b * strides[outer[1]] + c * out2;
        if (fast == 0) {
          for (std::int64_t x = 0; x < dims[0]; ++x) move(to[x], from[x]);
          continue;
        }
        for (std::int64_t y0 = 0; y0 < dims[fast]; y0 += edge) {
          const std::int64_t y1 = std::min(y0 + edge, dims[fast]);
          for (std::int64_t x0 = 0; x0 < dims[0]; x0 += edge) {
            const std::int64_t x1 = std::min(x0 + edge, dims[0]);
            for (std::int64_t x = x0; x < x1; ++x) {
              for (std::int64_t y = y0; y < y1; ++y) move(to[x * strides[0] + y], from[x + y * in_strides[fast]]);
            }
          }
        }
      }
    }
  }
}

}

NwchemIntegrals::NwchemIntegrals(const TileSpace& space, V2Storage storage, std::unique_ptr<const NwchemVector> vector)
    : space_(space), storage_(storage), vector_(std::move(vector)) {
  if (storage_ == V2Storage::spin_orbital) {
    spin_orbital_ = QuadOffsets::v2(space);
  } else {
    tiles_ = spatial_tiles(space);
    spatial_ = SpatialOffsets(space, tiles_);
  }
}

void NwchemIntegrals::read(int g3, int g4, int g1, int g2, std::span<double> block) const {
  if (storage_ == V2Storage::spin_orbital) {
    vector_->read_finite(spin_orbital_.offset(g3, g4, g1, g2), block,
                         [&] { return fmt::format("block ({} {}|{} {})", g3 + 1, g4 + 1, g1 + 1, g2 + 1); });
    return;
  }
  const auto axis = [&](int tile, std::int64_t stride) { return Axis{tiles_.spatial_tile[u(tile)], stride}; };
  const std::int64_t n1 = space_[g1].size;
  const std::int64_t n2 = space_[g2].size;
  const Axis a3 = axis(g3, space_[g4].size * n1 * n2);
  const Axis a4 = axis(g4, n1 * n2);
  const Axis a1 = axis(g1, n2);
  const Axis a2 = axis(g2, 1);
  // <g3 g4||g1 g2> = (g3 g1|g4 g2) - (g3 g2|g4 g1), each term only if the spins within its pairs agree.
  const bool direct = space_[g3].spin() == space_[g1].spin() && space_[g4].spin() == space_[g2].spin();
  const bool exchange = space_[g3].spin() == space_[g2].spin() && space_[g4].spin() == space_[g1].spin();
  std::int64_t loaded = -1;
  if (direct) write_integral(a3, a1, a4, a2, 1.0, false, block, loaded);
  if (exchange) write_integral(a3, a2, a4, a1, -1.0, direct, block, loaded);
}

void NwchemIntegrals::write_integral(Axis i, Axis j, Axis k, Axis l, double sign, bool add, std::span<double> block,
                                     std::int64_t& loaded) const {
  // Of the eight equal integrals, the stored one has i >= j, k >= l and pair(i,j) >= pair(k,l).
  if (i.tile < j.tile) std::swap(i, j);
  if (k.tile < l.tile) std::swap(k, l);
  if (i.tile < k.tile || (i.tile == k.tile && j.tile < l.tile)) {
    std::swap(i, k);
    std::swap(j, l);
  }
  const auto size = [&](const Axis& axis) { return space_[tiles_.alpha_tile[u(axis.tile)]].size; };
  const std::array<std::int64_t, 4> dims = {size(i), size(j), size(k), size(l)};
  thread_local Buffer scratch;
  scratch.reserve(block.size());
  const std::span<double> stored = scratch.span().first(block.size());
  const std::int64_t offset = spatial_.offset(j.tile, i.tile, l.tile, k.tile);
  if (offset != loaded) {
    vector_->read_finite(offset, stored, [&] {
      return fmt::format("block ({} {}|{} {}) of spatial tiles", i.tile + 1, j.tile + 1, k.tile + 1, l.tile + 1);
    });
    loaded = offset;
  }
  const std::array<std::int64_t, 4> strides = {i.stride, j.stride, k.stride, l.stride};
  if (add)
    permute<true>(stored.data(), block.data(), dims, strides, sign);
  else
    permute<false>(stored.data(), block.data(), dims, strides, sign);
}

}
