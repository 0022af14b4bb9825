#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cxx/cuda/schedule/seed_layout.hpp"
#include "cxx/cuda/schedule/split_half_units.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/operands/panel_layout.hpp"

/// The part of a task's program that only runs with derivatives have: the seeds, and the products of seeds with panels.
namespace trifuse::gpu {

/// The program of the backward pass of one task, with names of panels and offsets instead of pointers.
struct BackwardProgram {
  /// A BackwardProduct. `shape`: its members other than pointers; `factor` has no unit.
  struct Entry {
    BackwardProduct shape{};
    int target = 0;        ///< number of the target of a side among the seeds: [target, side]
    PanelName panel{};     ///< the panel that is multiplied
    std::int64_t out = 0;  ///< offset in the sums of contracted index 0 of the first row of the other panel
  };
  int targets = 0;  ///< targets that have seeds, of all sides together
  std::vector<SeedImage> images;
  std::vector<Entry> products;
  std::vector<std::int64_t> vvoo;  ///< [set, vvoo block] place among the VvooSums; negative if the block vanishes
  double operations = 0.0;         ///< floating-point operations of all products
};

/// The derivatives by vvoo blocks on a device: integers, packed as the blocks that kernels read, so that the lanes of a
/// warp add to neighbours. A block is there once for each order of its holes.
class VvooSums {
 public:
  struct Block {
    PanelName name;
    std::int64_t begin;   ///< place of its first integer
    std::int64_t linear;  ///< place of the block's derivatives in the linear layout
    Packing packing;      ///< from the linear layout
  };
  explicit VvooSums(const PanelLayout& layout);
  std::span<const Block> blocks() const { return blocks_; }
  /// Returns the number of integers of all blocks.
  std::int64_t size() const { return size_; }
  /// Returns the place of the first integer of a block; negative if the problem has no such block.
  std::int64_t find(const PanelName& name) const;

 private:
  std::vector<Block> blocks_;
  std::unordered_map<PanelName, std::int64_t, PanelName::Hash> places_;
  std::int64_t size_ = 0;
};

/// Writes the backward program of `task` to `program`. `layout`: of the sums of a problem without factors, see
/// layout_of_derivatives(). `vvoo`: those of the layout. `names`: its program, see write_program(). `format`: of the
/// panels that the backward kernel reads. `contractions`: memory that is reused from call to call.
void write_backward_program(const Problem& problem, const PanelLayout& layout, const VvooSums& vvoo, const Task& task,
                            const TaskProgram& names, const OperandFormat& format, ContractionList& contractions,
                            BackwardProgram& program);

/// Returns the size of a seed, bytes.
constexpr std::int64_t seed_size(Precision precision) {
  return precision == Precision::mixed ? sizeof(float) : sizeof(double);
}
/// Returns the bytes of the seeds of the largest task of `tiles`. `targets`: of a task, see Problem::targets().
std::int64_t largest_seed_bytes(int targets, Precision precision, const TileSpace& tiles);

/// Cuts orbital tiles until the seeds of the largest task take at most `bytes` and a target has at most 2^32 of them,
/// or the tiles are the smallest ones. `targets`: as of largest_seed_bytes().
TileSpace tiles_with_room_for_seeds(int targets, Precision precision, const TileSpace& tiles, std::int64_t bytes);

/// The part of the memory of a device that derivatives take.
struct DerivativeMemory {
  TileSpace tiles;     ///< the tiles of the run, cut until the seeds of a task fit
  std::int64_t seeds;  ///< of each worker, bytes
  std::int64_t sums;   ///< of all workers, bytes: DerivativeSums and VvooSums
};
/// Divides `budget` bytes of a device: the executor and the prediction call this function. `precision`: of the tasks.
DerivativeMemory derivative_memory(const Problem& problem, const TileSpace& tiles, Precision precision,
                                   std::int64_t budget);
/// Number of workers of a device with derivatives. A launch takes so long that two keep the device busy.
inline constexpr std::int64_t derivative_workers = 2;

/// The tiles of the backward kernels of a precision.
struct BackwardTiles {
  int k_tile_depth;       ///< contracted indices x of a k-tile
  int narrowest, widest;  ///< widths of the compiled kernels, in k-tiles
};
constexpr BackwardTiles backward_tiles(Precision precision) {
  return precision == Precision::mixed ? BackwardTiles{SplitHalfTransposed::k_tile_depth, 1, 5}
                                       : BackwardTiles{Fp64::k_tile_depth, 2, 9};
}
/// Returns the width of the tiles for a product: the one with which the fewest k-tiles are computed in vain.
int backward_width(const BackwardProduct& product, Precision precision);
/// Appends the tiles of product number `number`. `width`: of a tile, in k-tiles.
void append_backward_tiles(const BackwardProduct& product, Precision precision, std::uint32_t number, int width,
                           std::vector<BackwardTile>& tiles);

}
