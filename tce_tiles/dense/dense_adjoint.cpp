#include "tce_tiles/dense/dense_adjoint.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "tce_tiles/dense/block_parts.hpp"

namespace trifuse {

namespace {

/// The symmetry of an array: it is `sign` times itself with the axes permuted.
struct Exchange {
  std::array<std::size_t, 4> axes;
  double sign;
};

std::vector<Exchange> symmetry_of(const ArraySpec& spec, bool restricted) {
  const bool same = restricted || spec.first == spec.second;
  constexpr std::array<std::size_t, 4> last_two = {0, 1, 3, 2}, holes_of_pairs = {2, 1, 0, 3};
  switch (spec.kind) {
    case ArrayKind::t2:
      if (restricted) return {{{1, 0, 3, 2}, 1.0}};
      if (same) return {{{1, 0, 2, 3}, -1.0}, {last_two, -1.0}};
      return {};
    case ArrayKind::ovvv:
      if (spec.antisymmetrised) return {{{0, 2, 1, 3}, -1.0}};
      return {{last_two, 1.0}};
    case ArrayKind::ovoo:
      if (spec.antisymmetrised) return {{holes_of_pairs, -1.0}};
      return {{last_two, 1.0}};
    case ArrayKind::ovov:
      if (spec.antisymmetrised) return {{holes_of_pairs, -1.0}, {{0, 3, 2, 1}, -1.0}};
      if (same) return {{{2, 3, 0, 1}, 1.0}};
      return {};
    default:
      return {};
  }
}

/// Projects a slice of derivatives on the symmetry of its array: t2 and ovov of two electrons of one kind under their
/// exchange, t2 of equal spins and `asym_` arrays antisymmetric, ovvv and ovoo under the exchange of the last two
/// indices. `values`: of this shape, C order.
void project_on_symmetry(const ArraySpec& spec, bool restricted, const std::array<std::int64_t, 4>& shape,
                         std::span<double> values, int threads) {
  const std::array<std::int64_t, 4> stride = strides_of(shape);
  for (const auto& [axes, sign] : symmetry_of(spec, restricted)) {
    std::array<std::int64_t, 4> other{};
    for (std::size_t d = 0; d < 4; ++d) other[d] = stride[axes[d]];
    // Each exchange is its own inverse, so that the images are pairs. The thread of the first of them changes both.
    share_in_turns(static_cast<std::size_t>(shape[0] * shape[1]), threads, [&, of_sign = sign](std::size_t box) {
      const std::int64_t w = static_cast<std::int64_t>(box) / shape[1], x = static_cast<std::int64_t>(box) % shape[1];
      std::int64_t at = w * stride[0] + x * stride[1];
      for (std::int64_t y = 0; y < shape[2]; ++y) {
        const std::int64_t row = w * other[0] + x * other[1] + y * other[2];
        for (std::int64_t z = 0; z < shape[3]; ++z, ++at) {
          const std::int64_t image = row + z * other[3];
          if (image < at) continue;
          double &one = values[static_cast<std::size_t>(at)], &two = values[static_cast<std::size_t>(image)];
          const double mean = 0.5 * (one + of_sign * two);
          two = of_sign * mean;
          one = mean;
        }
      }
    });
  }
}

}

DenseAdjoint::DenseAdjoint(const DenseInput& input, const TileSpace& tiles, const std::vector<ArrayKind>& kinds)
    : restricted_(input.header.restricted), tiles_(tiles) {
  std::vector<ArraySpec> specs = amplitude_arrays(restricted_);
  if (const auto integrals = present_integrals(*input.arrays, input.header))
    specs.insert(specs.end(), integrals->begin(), integrals->end());
  // Arrays without elements may be absent from the input. Their derivatives are there.
  for (const ArraySpec& spec : integral_arrays(restricted_)) {
    if (input.header.size(spec) == 0) specs.push_back(spec);
  }
  for (const ArraySpec& spec : specs) {
    if (std::find(kinds.begin(), kinds.end(), spec.kind) == kinds.end() || spec.axes.size() != 4) continue;
    Array array{spec, {}};
    const std::vector<std::int64_t> shape = input.header.shape(spec);
    std::copy(shape.begin(), shape.end(), array.shape.begin());
    arrays_.push_back(std::move(array));
  }
}

bool DenseAdjoint::makes_slices(const Array& array) const {
  const std::vector<Exchange> symmetry = symmetry_of(array.spec, restricted_);
  return std::all_of(symmetry.begin(), symmetry.end(), [](const Exchange& exchange) { return exchange.axes[0] == 0; });
}

std::vector<BlockPart> DenseAdjoint::parts(const Array& array, TensorKind tensor,
                                           const std::array<int, 4>& tiles) const {
  const auto antisymmetrised = [&](ArrayKind kind, Spin spin) {
    return std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& x) {
      return x.spec.kind == kind && x.spec.first == spin && x.spec.second == spin && x.spec.antisymmetrised;
    });
  };
  std::vector<BlockPart> parts =
      tensor == TensorKind::t2 ? parts_of_t2(tiles_, tiles) : parts_of_v2(tiles_, tiles, antisymmetrised);
  std::erase_if(parts, [&](const BlockPart& part) {
    return part.kind != array.spec.kind || part.first != array.spec.first || part.second != array.spec.second;
  });
  return parts;
}

std::size_t DenseAdjoint::Box::elements() const {
  return static_cast<std::size_t>(size[0] * size[1] * size[2] * size[3]);
}

std::optional<DenseAdjoint::Box> DenseAdjoint::box(const BlockPart& part, const std::array<int, 4>& tiles,
                                                   const ArraySlice& slice) const {
  Box box{};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t d = part.axes[k];
    const std::int64_t tile_begin = tiles_.offset_in_class(tiles[d]), tile_end = tile_begin + tiles_[tiles[d]].size;
    const std::int64_t begin = k == 0 ? std::max(tile_begin, slice.first) : tile_begin;
    const std::int64_t end = k == 0 ? std::min(tile_end, slice.first + slice.count) : tile_end;
    if (begin >= end) return std::nullopt;
    box.begin[k] = k == 0 ? begin - slice.first : begin;
    box.size[k] = box.size_in_block[d] = end - begin;
    box.begin_in_block[d] = begin - tile_begin;
  }
  return box;
}

void DenseAdjoint::add(const BlockPart& part, const Box& box, std::span<const double> elements,
                       std::span<double> sums) {
  const std::array<std::int64_t, 4> of_block = strides_of(box.size_in_block);
  const auto& [n0, n1, n2, n3] = box.size;
  std::array<std::int64_t, 4> from{};
  for (std::size_t k = 0; k < 4; ++k) from[k] = of_block[part.axes[k]];
  double* row = sums.data();
  for (std::int64_t w = 0; w < n0; ++w)
    for (std::int64_t x = 0; x < n1; ++x)
      for (std::int64_t y = 0; y < n2; ++y, row += n3) {
        const double* const of_row = elements.data() + w * from[0] + x * from[1] + y * from[2];
        for (std::int64_t z = 0; z < n3; ++z) row[z] += part.sign * of_row[z * from[3]];
      }
}

void DenseAdjoint::write(const Array& array, const Box& box, std::span<const double> sums, double unit,
                         std::span<double> values) {
  const std::array<std::int64_t, 4> stride = strides_of(array.shape);
  const auto& [w0, x0, y0, z0] = box.begin;
  const auto& [n0, n1, n2, n3] = box.size;
  const double* from = sums.data();
  for (std::int64_t w = w0; w < w0 + n0; ++w)
    for (std::int64_t x = x0; x < x0 + n1; ++x)
      for (std::int64_t y = y0; y < y0 + n2; ++y, from += n3) {
        double* const row = values.data() + w * stride[0] + x * stride[1] + y * stride[2] + z0;
        for (std::int64_t z = 0; z < n3; ++z) row[z] = unit * from[z];
      }
}

void DenseAdjoint::project(const Array& array, const ArraySlice& slice, std::span<double> values, int threads) const {
  std::array<std::int64_t, 4> shape = array.shape;
  shape[0] = slice.count;
  project_on_symmetry(array.spec, restricted_, shape, values, threads);
}

}
