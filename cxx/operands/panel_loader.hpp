#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/own_panels.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

/// Fills the panels that this process owns. Reads each block of the problem that has elements in these panels, on as
/// many threads as OpenMP allows. The tiles of the source and the tiles of the panels may divide the same orbitals
/// differently.
class PanelLoader {
 public:
  /// `layout`: all panels. `own`: the panels of this process; their memory must be set. Both must outlive the loader.
  /// `max_buffered`: limit for the read buffers of all threads together, in doubles; one block may exceed it.
  PanelLoader(const PanelLayout& layout, const OwnPanels& own, std::int64_t max_buffered)
      : layout_(layout), own_(own), max_buffered_(max_buffered) {}
  /// Reads the blocks and writes their elements to the panels and to `ov_tensors`. Leaves out slabs of factors of two
  /// particles, see read_slabs_of_ranks(). Requires that the panels and `ov_tensors` contain zeros. Returns the number
  /// of bytes read from the sources. Passes on exceptions of the sources.
  ///
  /// `problem`: the problem of `layout`; its sources are read. `ov_tensors`: one array for each disconnected set, as
  /// `PanelStore::ov_tensor` returns it.
  std::int64_t load(const Problem& problem, std::span<std::vector<double>> ov_tensors);
  /// Reads only `ov_tensors`, as load() does.
  void load_ov_tensors(const Problem& problem, std::span<std::vector<double>> ov_tensors);

 private:
  /// The part of the contracted index to which an index of a block belongs.
  enum class Part : std::uint8_t { particles, holes };
  /// Assigns the four dimensions of a block to the indices of a panel. `rows`: dimensions that become p, h, h' of a
  /// left or p, p', h of a right panel.
  struct IndexMap {
    PanelKind kind;
    std::array<int, 3> rows;
    int contracted;  ///< dimension of the block that becomes the contracted index
    Part part;
    double sign;                  ///< sign of the elements
    bool bra_images, ket_images;  ///< true: the block also represents its antisymmetric images
  };
  using BlockTiles = std::array<int, 4>;  ///< tiles of a block in the source
  /// A block and its position among the orbitals of the panels.
  struct BlockData {
    std::array<std::int64_t, 4> offset;  ///< first orbital of each dimension
    std::array<std::int64_t, 4> size;    ///< shape of `data`, C order
    const double* data;                  ///< null if the block has not been read
    BlockTiles tiles;
  };

  void load_amplitudes(const TileSource& source, Side side);
  /// Reads the integrals of these sides, which are the same.
  void load_integrals(const TileSource& source, std::span<const Side> sides);
  /// Reads the slabs of factors that have a hole and that this process owns.
  void load_factors_of_holes(const FactorSource& source);
  void load_vvoo(const Problem& problem);

  /// Describes the block of these tiles without reading it. `space`: the tile space of its source.
  BlockData without_data(const TileSpace& space, const BlockTiles& tiles) const;
  /// Lists the blocks for which `write`, called without data, returns true. Parameters are those of `for_each_block`.
  template <typename Write>
  std::vector<BlockTiles> list_blocks(const TileSpace& space, const std::array<Space, 4>& spaces,
                                      const std::array<int, 4>& loop_order, Write write) const;
  /// Calls `write` for the blocks of t2 or v2 that the formulation needs. First calls it without data for each block.
  /// If the result is true, reads the block by `read` and calls `write` with its data, from several threads at the same
  /// time.
  ///
  /// `source`: the source of the blocks. `spaces`: holes or particles, for each dimension of a block. `loop_order`:
  /// dimensions of a block, the innermost loop last; blocks that differ only in this last dimension have the same rows
  /// in a dump file. `read`: read(tiles, block). `write`: write(block), returns true if this process owns a panel with
  /// elements of the block.
  template <typename Read, typename Write>
  void for_each_block(const TileSource& source, std::array<Space, 4> spaces, std::array<int, 4> loop_order, Read read,
                      Write write);
  /// Copies the elements of a block, and of its antisymmetric images, to panels of this process. Returns true if this
  /// process owns such a panel. A block without data is not copied.
  bool write_block(const BlockData& block, const IndexMap& map, Side side);
  /// Does what write_block() does for one image. `order`: the dimension of the block for each dimension of the image.
  /// `sign`: sign of the elements.
  bool write_image(const BlockData& block, const std::array<int, 4>& order, double sign, const IndexMap& map,
                   Side side);
  /// Does what write_block() does for vvoo blocks, with the images that the formulation needs.
  bool write_vvoo(const BlockData& block, std::size_t set);
  /// Reads all blocks [p,h] by `read`. Writes them, multiplied by `weight`, to `factor`, an array [hole, particle] over
  /// all orbitals.
  void load_ov_tensor(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                      double weight, std::vector<double>& factor);

  /// A range of orbitals inside one tile of the panels. `in_tile`, `in_block`: its begin, counted from the begin of the
  /// tile and of the block.
  struct Segment {
    int tile;
    std::int64_t in_tile, in_block, size;
  };
  /// Divides the orbitals [offset, offset + size) at the borders of the tiles of the panels.
  std::vector<Segment> segments(std::int64_t offset, std::int64_t size) const;

  const PanelLayout& layout_;
  const OwnPanels& own_;
  std::int64_t max_buffered_;
  std::atomic<std::int64_t> bytes_read_{0};
};

}
