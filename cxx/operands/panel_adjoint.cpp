#include "cxx/operands/panel_adjoint.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cxx/operands/derivative_sums.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

void read_block(const PanelBlocks& blocks, const PanelBlocks::Use& use_of_block, const PanelBlocks::BlockShape& block,
                const CompleteSums& sums, const std::function<void(std::span<const double>)>& use) {
  // Elements go from the panel to the block, so `from` and `to` of the other direction change places.
  std::vector<CompleteSums::Piece> pieces;
  blocks.for_each_piece(block, use_of_block, [&](const PanelBlocks::Piece& piece) {
    pieces.push_back(
        {piece.panel.begin + piece.in_panel, piece.in_block, piece.extent, piece.to, piece.from, piece.sign});
  });
  sums.read(pieces, static_cast<std::size_t>(block.size[0] * block.size[1] * block.size[2] * block.size[3]),
            [&](std::span<const double> values) {
              expect_in_range(values);
              use(values);
            });
}

InnerProduct InnerProduct::of(std::span<const double> x, std::span<const double> y) {
  InnerProduct product;
  for (std::size_t n = 0; n < x.size(); ++n) {
    product.sum += x[n] * y[n];
    product.magnitude += std::abs(x[n] * y[n]);
  }
  return product;
}

InnerProduct times_blocks(const PanelBlocks& blocks, const PanelBlocks::Use& use, const CompleteSums& sums) {
  const TileSpace& space = use.source->tiles();
  const std::vector<PanelBlocks::BlockTiles> all = blocks.list(use, space);
  std::vector<InnerProduct> products(all.size());
  constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
  blocks.read(use, all, unlimited, [&](std::size_t n, std::span<const double> elements) {
    read_block(blocks, use, blocks.shape_of(space, all[n]), sums,
               [&](std::span<const double> derivatives) { products[n] = InnerProduct::of(derivatives, elements); });
  });
  // In the order of the blocks, so that the bits do not depend on the threads.
  InnerProduct sum;
  for (const InnerProduct& product : products) sum += product;
  return sum;
}

}
