#include "cxx/operands/panel_adjoint.hpp"

#include <vector>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse {

namespace {

/// Adds the elements of a piece of a panel to a block. `panel`, `block`: first elements of the piece.
void add_piece(const PanelBlocks::Piece& piece, const std::int64_t* panel, std::int64_t* block) {
  const auto& [n0, n1, n2, n3] = piece.extent;
  const auto& from = piece.from;
  const auto& to = piece.to;
  const std::int64_t sign = piece.sign < 0.0 ? -1 : 1;
  for (std::int64_t w = 0; w < n0; ++w)
    for (std::int64_t x = 0; x < n1; ++x)
      for (std::int64_t y = 0; y < n2; ++y) {
        const std::int64_t* p = panel + w * to[0] + x * to[1] + y * to[2];
        std::int64_t* b = block + w * from[0] + x * from[1] + y * from[2];
        for (std::int64_t z = 0; z < n3; ++z) b[z * from[3]] += sign * p[z * to[3]];
      }
}

}

void add_to_blocks(
    const PanelLayout& layout, const PanelBlocks::Use& use, std::span<const std::int64_t> sums, int threads,
    const std::function<void(const PanelBlocks::BlockTiles& tiles, std::span<const std::int64_t> block)>& add) {
  const PanelBlocks blocks_of(layout);
  const TileSpace& space = layout.tiles();
  const std::vector<PanelBlocks::BlockTiles> blocks =
      blocks_of.list(use, space, [](const PanelBlocks::BlockShape&) { return true; });
  // The memory of a block is used again: the system would have to provide it for each block.
  using Numbers = std::vector<std::int64_t>;
  share_among_threads<Numbers>(blocks.size(), threads, [&](std::size_t n, Numbers& block) {
    const PanelBlocks::BlockShape shape = blocks_of.shape_of(space, blocks[n]);
    block.assign(static_cast<std::size_t>(shape.size[0] * shape.size[1] * shape.size[2] * shape.size[3]), 0);
    blocks_of.for_each_piece(shape, use, [&](const PanelBlocks::Piece& piece) {
      add_piece(piece, sums.data() + piece.panel.begin + piece.in_panel, block.data() + piece.in_block);
    });
    add(blocks[n], block);
  });
}

}
