#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/kernel_parameters.hpp"
#include "cxx/triples/task.hpp"

/// Cuts tasks into cta_tiles.
namespace trifuse::gpu {

/// Warps side by side along a, b, c, from a particle of each kind on.
struct CtaParticles {
  std::array<int, 3> first;
  std::array<int, 3> warps;
};

/// Bytes of a stage that an arrangement of warps asks for, in the product that asks for most.
std::int64_t stage_bytes(const Shape& shape, const std::array<int, 3>& warps);
/// Whether a kernel can take an arrangement of warps.
bool fits(const Shape& shape, const std::array<int, 3>& warps);

/// Covers extents of a, b, c by boxes that the kernel can take, each at most once, so that the modelled time is least.
///
/// The model: a CTA tile takes as long as its busiest quarter of a multiprocessor multiplies, and a part that does not
/// depend on its size. Boxes that end outside the tile cost as much as full ones, so ragged ends get arrangements of
/// their own.
class CtaTiling {
 public:
  explicit CtaTiling(const Shape& shape);
  const std::vector<CtaParticles>& tiles(const std::array<int, 3>& extent);
  /// Modelled time of all boxes, in units of a full CTA tile.
  double cost(const std::array<int, 3>& extent);
  /// Modelled time of one CTA tile.
  double cta_tile_cost(const std::array<int, 3>& warps) const;

 private:
  struct Choice {
    double cost;
    int axis;  ///< -1: one CTA tile
    int first_part;
  };
  std::array<int, 3> warp_tiles(const std::array<int, 3>& extent) const;
  const Choice& choose(const std::array<int, 3>& warp_tiles);
  void collect(const std::array<int, 3>& first, const std::array<int, 3>& warp_tiles, std::vector<CtaParticles>& tiles);

  Shape shape_;
  std::map<std::array<int, 3>, Choice> choices_;
  std::map<std::array<int, 3>, std::vector<CtaParticles>> tilings_;
};

/// Which of several kernels' shapes covers extents in the least modelled time. All of them do as much in a full
/// CTA tile.
class ShapeSelector {
 public:
  explicit ShapeSelector(const std::vector<Shape>& shapes);
  /// The number of the shape, the first of equals.
  std::size_t best(const std::array<int, 3>& extent);
  CtaTiling& tiling(std::size_t shape) { return tilings_[shape]; }

 private:
  std::vector<CtaTiling> tilings_;
};

/// Appends the CTA tiles of a task. Where tiles coincide, boxes without an element in ascending order are left out.
/// CTA tiles that follow each other share particles, so that operands are found in the cache. Returns the share of the
/// task's elements, all targets together, that the CTA tiles compute.
double append_cta_tiles(std::uint32_t task_number, const TaskData& task, Form form, const Shape& shape,
                        CtaTiling& tiling, std::vector<CtaTile>& cta_tiles);

}  // namespace trifuse::gpu
