#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

/// Cuts tasks into CTA tiles.
///
/// A CTA tile is what one thread block (CTA) computes at a time: a range of particles for each of a, b, c times one
/// hole group for each of i, j, k. Its particles are divided into warp tiles of equal shape, one for each warp.
namespace trifuse::gpu {

/// The particles of a CTA tile.
struct CtaParticles {
  std::array<int, 3> first;  ///< [a, b, c] first particle inside its orbital tile
  std::array<int, 3> warps;  ///< [a, b, c] number of warp tiles
};

/// Returns the bytes of shared memory that one k-tile of both operands takes, for the product with the largest k-tiles.
/// `warps` [a, b, c]: number of warp tiles.
std::int64_t stage_bytes(const Shape& shape, const std::array<int, 3>& warps);
/// Returns true if a kernel of this shape can compute CTA tiles of `warps` [a, b, c] warp tiles.
bool fits(const Shape& shape, const std::array<int, 3>& warps);

/// Covers extents of a, b, c with CTA tiles that a kernel can compute. Each element is in one CTA tile, and the
/// modelled time is as small as possible.
///
/// The model: the time of a CTA tile is the time in which the busiest quarter of the multiprocessor multiplies, plus a
/// constant. Warp tiles that reach beyond the end of an orbital tile cost as much as full ones. So ragged ends get CTA
/// tiles of another shape.
class CtaTiling {
 public:
  explicit CtaTiling(const Shape& shape);
  /// Returns the CTA tiles of `extent` [a, b, c]. The reference stays valid.
  const std::vector<CtaParticles>& tiles(const std::array<int, 3>& extent);
  /// Returns the modelled time of all CTA tiles of `extent` [a, b, c] for one choice of the three hole groups, in units
  /// of a full CTA tile.
  double cost(const std::array<int, 3>& extent);
  /// Returns the modelled time of one CTA tile of `warps` [a, b, c] warp tiles, in units of a full CTA tile.
  double cta_tile_cost(const std::array<int, 3>& warps) const;

 private:
  /// The best way to cover a number of warp tiles: as one CTA tile, or as two parts that are covered separately.
  struct Choice {
    double cost;
    int axis;        ///< axis that is cut; -1: one CTA tile
    int first_part;  ///< warp tiles of the smaller part along this axis
  };
  /// Returns the numbers of warp tiles along a, b, c that cover `extent`.
  std::array<int, 3> warp_tiles(const std::array<int, 3>& extent) const;
  const Choice& choose(const std::array<int, 3>& warp_tiles);
  void collect(const std::array<int, 3>& first, const std::array<int, 3>& warp_tiles, std::vector<CtaParticles>& tiles);

  Shape shape_;
  std::map<std::array<int, 3>, Choice> choices_;                     ///< key: numbers of warp tiles
  std::map<std::array<int, 3>, std::vector<CtaParticles>> tilings_;  ///< key: extent
};

/// Selects the kernel whose CTA tiles cover given extents in the shortest modelled time. All kernels compute equally
/// many elements in a full CTA tile.
class ShapeSelector {
 public:
  /// `shapes`: one for each kernel, not empty.
  explicit ShapeSelector(const std::vector<Shape>& shapes);
  /// Returns the index in `shapes` of the best shape for `extent` [a, b, c]; the first one if several are equally good.
  std::size_t best(const std::array<int, 3>& extent);
  /// Returns the tilings of the shape with this index.
  CtaTiling& tiling(std::size_t shape) { return tilings_[shape]; }

 private:
  std::vector<CtaTiling> tilings_;
};

/// Appends the CTA tiles of a task to `cta_tiles`. If orbital tiles of the task are equal, leaves out CTA tiles without
/// an element in ascending order. Successive CTA tiles share particles, so their operands are found in the cache.
///
/// `task_number`: the index of the task in its launch. `tiling`: made for `shape`. Returns (the number of elements in
/// the appended CTA tiles, summed over the targets that they compute) / (the number of elements of all targets of the
/// task).
double append_cta_tiles(std::uint32_t task_number, const TaskData& task, SpinFormulation formulation,
                        const Shape& shape, CtaTiling& tiling, std::vector<CtaTile>& cta_tiles);

}
