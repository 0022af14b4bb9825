#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cxx/cuda/schedule/configuration.hpp"
#include "cxx/cuda/schedule/work.hpp"
#include "cxx/triples/task.hpp"

/// Cuts tasks into items.
namespace trifuse::gpu {

/// Warps side by side along a, b, c, from a particle of each kind on.
struct WarpBox {
  std::array<int, 3> first;
  std::array<int, 3> warps;
};

/// Bytes of a stage that an arrangement of warps asks for, in the phase that asks for most.
std::int64_t stage_bytes(const Shape& shape, const std::array<int, 3>& warps);
/// Whether a kernel can take an arrangement of warps.
bool fits(const Shape& shape, const std::array<int, 3>& warps);

/// Covers extents of a, b, c by boxes that the kernel can take, each at most once, so that the modelled time is least.
///
/// The model: an item takes as long as its busiest quarter of a multiprocessor multiplies, and a part that does not
/// depend on its size. Boxes that end outside the tile cost as much as full ones, so ragged ends get arrangements of
/// their own.
class BoxCover {
 public:
  explicit BoxCover(const Shape& shape);
  const std::vector<WarpBox>& boxes(const std::array<int, 3>& extent);
  /// Modelled time of all boxes, in units of a full item.
  double cost(const std::array<int, 3>& extent);
  /// Modelled time of one item.
  double item_cost(const std::array<int, 3>& warps) const;

 private:
  struct Choice {
    double cost;
    int axis;  ///< -1: one item
    int first_part;
  };
  std::array<int, 3> sub_boxes(const std::array<int, 3>& extent) const;
  const Choice& choose(const std::array<int, 3>& sub_boxes);
  void collect(const std::array<int, 3>& first, const std::array<int, 3>& sub_boxes, std::vector<WarpBox>& boxes);

  Shape shape_;
  std::map<std::array<int, 3>, Choice> choices_;
  std::map<std::array<int, 3>, std::vector<WarpBox>> covers_;
};

/// Which of several kernels' shapes covers extents in the least modelled time. All of them do as much in a full item.
class CoverChoice {
 public:
  explicit CoverChoice(const std::vector<Shape>& shapes);
  /// The number of the shape, the first of equals.
  std::size_t best(const std::array<int, 3>& extent);
  BoxCover& cover(std::size_t shape) { return covers_[shape]; }

 private:
  std::vector<BoxCover> covers_;
};

/// Appends the items of a task. Where tiles coincide, boxes without an element in ascending order are left out. Items
/// that follow each other share particles, so that operands are found in the cache. Returns the share of the task's
/// elements, all targets together, that the items compute.
double append_items(std::uint32_t task_number, const TaskData& task, SpinFormulation formulation, const Shape& shape,
                    BoxCover& cover, std::vector<Item>& items);

}  // namespace trifuse::gpu
