#include "cxx/operands/panel_adjoint.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

namespace {

/// Adds the elements of a piece of a panel to a block. `panel`, `block`: first elements of the piece.
void add_piece(const PanelBlocks::Piece& piece, const std::int64_t* panel, double* block) {
  const auto& [n0, n1, n2, n3] = piece.extent;
  const auto& from = piece.from;
  const auto& to = piece.to;
  for (std::int64_t w = 0; w < n0; ++w)
    for (std::int64_t x = 0; x < n1; ++x)
      for (std::int64_t y = 0; y < n2; ++y) {
        const std::int64_t* p = panel + w * to[0] + x * to[1] + y * to[2];
        double* b = block + w * from[0] + x * from[1] + y * from[2];
        for (std::int64_t z = 0; z < n3; ++z) b[z * from[3]] += piece.sign * static_cast<double>(p[z * to[3]]);
      }
}

/// Multiplies the elements of a piece of a panel by those of a block. Parameters are those of add_piece().
InnerProduct times_piece(const PanelBlocks::Piece& piece, const std::int64_t* panel, const double* block) {
  const auto& [n0, n1, n2, n3] = piece.extent;
  const auto& from = piece.from;
  const auto& to = piece.to;
  double sum = 0.0, magnitude = 0.0;
  for (std::int64_t w = 0; w < n0; ++w)
    for (std::int64_t x = 0; x < n1; ++x)
      for (std::int64_t y = 0; y < n2; ++y) {
        const std::int64_t* p = panel + w * to[0] + x * to[1] + y * to[2];
        const double* b = block + w * from[0] + x * from[1] + y * from[2];
        for (std::int64_t z = 0; z < n3; ++z) {
          const double product = b[z * from[3]] * static_cast<double>(p[z * to[3]]);
          sum += product;
          magnitude += std::abs(product);
        }
      }
  return {piece.sign * sum, magnitude};
}

}

void sum_panels(const PanelBlocks& blocks, const PanelBlocks::Use& use, const PanelBlocks::BlockShape& block,
                std::span<const std::int64_t> sums, std::vector<double>& values) {
  values.assign(static_cast<std::size_t>(block.size[0] * block.size[1] * block.size[2] * block.size[3]), 0.0);
  blocks.for_each_piece(block, use, [&](const PanelBlocks::Piece& piece) {
    add_piece(piece, sums.data() + piece.panel.begin + piece.in_panel, values.data() + piece.in_block);
  });
}

InnerProduct times_blocks(const PanelBlocks& blocks, const PanelBlocks::Use& use, std::span<const std::int64_t> sums) {
  const std::vector<PanelBlocks::BlockTiles> all = blocks.list(use, use.source->tiles());
  std::vector<InnerProduct> products(all.size());
  constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();
  blocks.read(use, all, unlimited, [&](std::size_t n, std::span<const double> elements) {
    blocks.for_each_piece(blocks.shape_of(use.source->tiles(), all[n]), use, [&](const PanelBlocks::Piece& piece) {
      products[n] +=
          times_piece(piece, sums.data() + piece.panel.begin + piece.in_panel, elements.data() + piece.in_block);
    });
  });
  // In the order of the blocks, so that the bits do not depend on the threads.
  InnerProduct sum;
  for (const InnerProduct& product : products) sum += product;
  return sum;
}

}
