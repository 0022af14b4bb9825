#include "cxx/cuda/schedule/array_panels.hpp"

#include <cstddef>
#include <utility>

namespace trifuse::gpu {

namespace {

/// Returns the position of an orbital among the orbitals of its class with the spin alpha.
std::int64_t in_class(const TileSpace& space, std::int64_t orbital, OrbitalClass c) {
  return orbital - space[space.first(c)].offset;
}

/// Builds a part of a panel. `axes`: the axis of the array for each tile of the panel's key. `tiles`: number of tiles
/// of the key. `contracted_axis`: axis of the contracted index. `contracted_begin`: first value of the contracted index
/// in the array.
ArrayRows::Part part_of(const TileSpace& space, const PanelName& name, const StridedView& array,
                        const std::array<std::size_t, 4>& axes, std::size_t tiles, std::size_t contracted_axis,
                        std::int64_t contracted_begin, double sign) {
  ArrayRows::Part part{array.data, {0, 0, 0, 0}, 0, sign};
  for (std::size_t n = 0; n < tiles; ++n) {
    const Tile& tile = space[name.key.tiles[n]];
    part.stride[n] = array.stride[axes[n]];
    part.first += in_class(space, tile.offset, tile.orbital_class) * part.stride[n];
  }
  if (tiles == 3) {
    part.contracted_stride = array.stride[contracted_axis];
    part.first += contracted_begin * part.contracted_stride;
  }
  if (name.swapped) {
    const std::size_t first = first_ordered_index(name.key.kind);
    std::swap(part.stride[first], part.stride[first + 1]);
  }
  return part;
}

}

ArrayRows rows_in_arrays(const TileSpace& space, const PanelName& name, VvooTensor tensor, const PanelArrays& arrays) {
  if (name.key.kind == PanelKind::vvoo) {
    // The key is p, p', h, h'. The numbers are t2[h,h',p,p'] or (h p|h' p').
    const ArrayRows::Part all = tensor == VvooTensor::t2
                                    ? part_of(space, name, arrays.t2, {2, 3, 0, 1}, 4, 0, 0, 1.0)
                                    : part_of(space, name, arrays.ovov, {1, 3, 0, 2}, 4, 0, 0, 1.0);
    return {all, all, 1};
  }
  const bool left = name.key.kind == PanelKind::left;
  ContractedIndex contracted{};
  const PanelTiles tiles{name.key.tiles[0], name.key.tiles[1], name.key.tiles[2]};
  if (left) {
    left_contracted_index(space, SpinFormulation::spin_adapted, tiles, contracted);
  } else {
    right_contracted_index(space, SpinFormulation::spin_adapted, tiles, contracted);
  }
  const auto begin = [&](OrbitalClass c) { return in_class(space, space.range(c, contracted.irrep).offset, c); };
  const std::int64_t d = begin(OrbitalClass::particle_alpha), l = begin(OrbitalClass::hole_alpha);
  const auto particles = static_cast<std::int32_t>(contracted_extent(space, contracted).particles);
  if (left) {
    // The key is p, h, h'. The numbers are t2[h,h',p,d] and -(h p|h' l).
    return {part_of(space, name, arrays.t2, {2, 0, 1, 0}, 3, 3, d, 1.0),
            part_of(space, name, arrays.ovoo, {1, 0, 2, 0}, 3, 3, l, -1.0), particles};
  }
  // The key is p, p', h. The numbers are (h p'|p d) and t2[l,h,p,p'].
  return {part_of(space, name, arrays.ovvv, {2, 1, 0, 0}, 3, 3, d, 1.0),
          part_of(space, name, arrays.t2, {2, 3, 1, 0}, 3, 0, l, 1.0), particles};
}

}
