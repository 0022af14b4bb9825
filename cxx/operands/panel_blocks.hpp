#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cxx/operands/panel_layout.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

/// Where the elements of blocks of t2 and v2 stand in the panels of a layout. The tiles of the blocks and the tiles of
/// the panels may divide the same orbitals differently. PanelLoader copies elements from blocks to panels, and
/// read_block() of panel_adjoint.hpp adds derivatives in the other direction.
class PanelBlocks {
 public:
  using BlockTiles = std::array<int, 4>;
  /// A block and its position among the orbitals of the panels.
  struct BlockShape {
    std::array<std::int64_t, 4> offset;  ///< first orbital of each dimension
    std::array<std::int64_t, 4> size;    ///< shape, C order
    BlockTiles tiles;                    ///< in the source
  };
  /// The part of the contracted index to which an index of a block belongs.
  enum class Part : std::uint8_t { particles, holes };
  /// Assigns the four dimensions of a block to the indices of a panel.
  struct IndexMap {
    PanelKind kind;  ///< left, right or vvoo
    /// Left and right panels: dimensions that become p, h, h' of a left or p, p', h of a right panel.
    std::array<int, 3> rows;
    int contracted;  ///< dimension of the block that becomes the contracted index
    Part part;
    double sign;                  ///< sign of the elements
    bool bra_images, ket_images;  ///< true: the block also represents its antisymmetric images
    std::uint8_t set = 0;         ///< of vvoo blocks
  };
  /// Blocks that the formulation needs, and where they go.
  struct Use {
    const TileSource* source;
    TensorKind tensor;              ///< t2 or v2
    std::array<Space, 4> spaces;    ///< holes or particles, for each dimension of a block
    std::array<int, 4> loop_order;  ///< dimensions, the innermost loop last: such blocks have the same rows in a dump
    std::vector<IndexMap> maps;     ///< each of them for each of `sides`
    std::vector<Side> sides;
  };
  /// Elements of a block that stand in one panel. Index d of the piece has `extent[d]` values; the distances of its
  /// elements are from[d] in the block and to[d] in the panel, one of which is 1 each.
  struct Piece {
    const PanelExtent& panel;
    std::int64_t in_panel, in_block;  ///< first element, counted from the begin of the panel and of the block
    std::array<std::int64_t, 4> extent, from, to;
    double sign;
  };

  /// `layout` must outlive this object.
  explicit PanelBlocks(const PanelLayout& layout) : layout_(layout) {}

  /// Returns the uses of all blocks of a problem whose numbers stand in panels.
  std::vector<Use> uses(const Problem& problem) const;
  BlockShape shape_of(const TileSpace& space, const BlockTiles& tiles) const;
  /// Lists the blocks of a use for which `wanted` is true, or all of them if `wanted` is empty.
  std::vector<BlockTiles> list(const Use& use, const TileSpace& space,
                               const std::function<bool(const BlockShape&)>& wanted = {}) const;
  /// Reads blocks that list() returned in this order for the tiles of the source. Calls `take` with the number of each
  /// block and its elements, on as many threads as OpenMP allows. `max_buffered`: limit for the blocks of all threads
  /// together, in doubles; one block may exceed it. Passes on exceptions of the source.
  void read(const Use& use, std::span<const BlockTiles> blocks, std::int64_t max_buffered,
            const std::function<void(std::size_t n, std::span<const double> elements)>& take) const;
  /// Calls `visit` for all pieces of a block, or of a part of one.
  void for_each_piece(const BlockShape& block, const Use& use, const std::function<void(const Piece&)>& visit) const;

 private:
  void add_amplitudes(const TileSource& source, Side side, std::vector<Use>& uses) const;
  void add_integrals(const TileSource& source, std::span<const Side> sides, std::vector<Use>& uses) const;
  /// Calls `visit` for the pieces of one image of a block. `order`: the dimension of the block for each dimension of
  /// the image. `sign`: sign of the elements.
  void pieces_of_image(const BlockShape& block, const std::array<int, 4>& order, double sign, const IndexMap& map,
                       Side side, const std::function<void(const Piece&)>& visit) const;
  void pieces_of_vvoo(const BlockShape& block, const std::array<int, 4>& order, double sign, std::size_t set,
                      const std::function<void(const Piece&)>& visit) const;
  /// A range of orbitals inside one tile of the panels. `in_tile`, `in_block`: its begin, counted from the begin of the
  /// tile and of the block.
  struct Segment {
    int tile;
    std::int64_t in_tile, in_block, size;
  };
  /// Divides the orbitals [offset, offset + size) at the borders of the tiles of the panels.
  std::vector<Segment> segments(std::int64_t offset, std::int64_t size) const;

  const PanelLayout& layout_;
};

}
