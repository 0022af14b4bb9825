#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

/// The part of a task's program that only runs with derivatives have: the seeds, and the products of seeds with panels.
namespace trifuse::gpu {

/// The program of the backward pass of one task, with names of panels and offsets instead of pointers.
struct BackwardProgram {
  /// A BackwardProduct. `shape`: its members other than pointers; `factor` has no unit.
  struct Entry {
    BackwardProduct shape{};
    int target = 0;        ///< number of the target among the seeds
    PanelName panel{};     ///< the panel that is multiplied
    std::int64_t out = 0;  ///< offset in the sums of contracted index 0 of the first row of the other panel
  };
  /// The integers of a vvoo block, see VvooSum. `out`: offset in the linear layout; negative if the block vanishes.
  struct Vvoo {
    std::int64_t out = -1;
    bool swapped = false;
  };
  int targets = 0;  ///< targets that have seeds
  std::vector<SeedImage> images;
  std::vector<Entry> products;
  std::vector<Vvoo> vvoo;   ///< [set, vvoo block]
  double operations = 0.0;  ///< floating-point operations of all products
};

/// Writes the backward program of `task` to `program`. `layout`: of the sums of a problem with one side and without
/// factors, see layout_of_derivatives(). `names`: its program, see write_program(). `contractions`: memory that is
/// reused from call to call.
void write_backward_program(const Problem& problem, const PanelLayout& layout, const Task& task,
                            const TaskProgram& names, const OperandFormat& format, ContractionList& contractions,
                            BackwardProgram& program);

/// Returns the bytes of the seeds of the largest task of `tiles`.
std::int64_t largest_seed_bytes(SpinFormulation formulation, const TileSpace& tiles);

/// Cuts orbital tiles until the seeds of the largest task take at most `bytes`, or the tiles are the smallest ones.
TileSpace tiles_with_room_for_seeds(SpinFormulation formulation, const TileSpace& tiles, std::int64_t bytes);

/// Widths of the tiles of the backward kernels, in k-tiles.
inline constexpr int narrowest_backward_tile = 2, widest_backward_tile = 9;
/// Returns the width of the tiles for a product: the one with which the fewest k-tiles are computed in vain.
int backward_width(const BackwardProduct& product);
/// Appends the tiles of product number `number`. `width`: of a tile, in k-tiles.
void append_backward_tiles(const BackwardProduct& product, std::uint32_t number, int width,
                           std::vector<BackwardTile>& tiles);

}
