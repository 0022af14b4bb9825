#include "cxx/cpu/subtask_products.hpp"

#include <algorithm>
#include <cstring>

#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

std::int64_t largest_contracted_extent(const TileSpace& tiles) {
  std::int64_t largest = 0;
  for (const Spin spin : {Spin::alpha, Spin::beta}) {
    for (int irrep = 0; irrep < 8; ++irrep)
      largest = std::max(largest, contracted_extent(tiles, {spin, irrep}).total());
  }
  return largest;
}

std::int64_t SubtaskProducts::scratch_doubles(const Problem& problem, const TileSpace& tiles) {
  if (problem.formulation == SpinFormulation::spin_orbital) return 0;
  const TileSizes size = largest_tiles(tiles);
  return size.holes * size.particles * size.particles * largest_contracted_extent(tiles);
}

SubtaskProducts::SubtaskProducts(const Problem& problem, const PanelParts& panels)
    : panels_(panels),
      space_(panels.tiles()),
      reordered_(static_cast<std::size_t>(scratch_doubles(problem, panels.tiles()))) {}

std::optional<OrderedProduct> SubtaskProducts::find(const Product& product, Side side) {
  const std::int64_t contracted = contracted_extent(space_, product.contracted).total();
  OrderedProduct found{};
  found.left = panels_.left(product.left, side, contracted, left_);
  found.right = panels_.right(product.right, side, contracted, right_);
  if (found.left.data == nullptr || found.right.data == nullptr) return std::nullopt;
  const auto rows = [&](const PanelTiles& tiles) {
    return space_[tiles[0]].size * space_[tiles[1]].size * space_[tiles[2]].size;
  };
  constexpr std::uint8_t slot_of_c = 2;
  const Destination& first = product.destinations.front();
  found.left_is_a = first.slot[0] == slot_of_c;
  found.reversed = first.slot[3] == slot_of_c;
  found.contracted = contracted;
  // Rows of the left panel: [h1,h2,p1]. Rows of the right panel: [h3,p2,p3], reversed [h3,p3,p2].
  if (found.left_is_a) {
    found.indices = {0, 2, 1, 4, 3, 5};
  } else {
    found.indices = {4, 3, 5, 0, 2, 1};
    if (found.reversed) std::swap(found.indices[0], found.indices[1]);
  }
  found.m = rows(product.left);
  found.n = rows(product.right);
  found.a = found.left.data;
  found.a_stride = found.left.stride;
  found.b = found.right.data;
  found.b_stride = found.right.stride;
  if (!found.left_is_a) {
    std::swap(found.m, found.n);
    std::swap(found.a, found.b);
    std::swap(found.a_stride, found.b_stride);
  }
  return found;
}

std::optional<OrderedProduct> SubtaskProducts::find_in_order(const Product& product, Side side) {
  std::optional<OrderedProduct> found = find(product, side);
  if (!found || !found->reversed) return found;
  // Copies a right panel [h3,p2,p3,x] to [h3,p3,p2,x] without gaps between its rows. x is the contracted index.
  const std::int64_t np = space_[product.right[0]].size, npp = space_[product.right[1]].size,
                     nh = space_[product.right[2]].size;
  double* to = reordered_.data();
  for (std::int64_t h = 0; h < nh; ++h)
    for (std::int64_t pp = 0; pp < npp; ++pp)
      for (std::int64_t p = 0; p < np; ++p, to += found->contracted) {
        std::memcpy(to, found->a + (pp + npp * (p + np * h)) * found->a_stride,
                    static_cast<std::size_t>(found->contracted) * sizeof(double));
      }
  found->a = reordered_.data();
  found->a_stride = found->contracted;
  return found;
}

}
