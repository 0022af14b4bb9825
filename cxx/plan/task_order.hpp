#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// Returns the order in which a GPU executes tasks if its memory does not hold all panels: the positions in `tasks`,
/// each of them once. In this order successive tasks share as many panels as possible.
///
/// The particle tiles are divided into groups of `group` tiles. The outer loop goes over pairs of groups I <= J: a is
/// in I, and b is in J. The inner loop goes over the tiles of c. So the panels of I and J stay on the GPU while the
/// panels of c come and go. The inner loop goes forward and backward in turn, so that it begins with the tiles that it
/// used last. Tasks of the same pair and the same c stay in the order of `tasks`.
///
/// If `group` is 0 or less, the order is that of `tasks`. `tasks`: tasks of `tiles`, in the order of a plan or in an
/// order that this function returned. A subset of the tasks has the same relative order as in the whole set.
std::vector<std::size_t> grouped_order(std::span<const Task> tasks, const TileSpace& tiles, int group);

}
