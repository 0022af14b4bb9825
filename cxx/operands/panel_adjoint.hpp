#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cxx/operands/panel_blocks.hpp"

namespace trifuse {

/// Makes derivatives by blocks from derivatives by panels: the adjoint of what PanelLoader does for one use. Each
/// element of a block receives the sum over all elements of panels that are copies of it.
///
/// `layout`: the panels, without factors. `use`: one of PanelBlocks::uses(). `sums`: the derivatives by all panels, in
/// the linear layout, see DerivativeSums. `add`: gets each block that has elements in panels, in the tiles of the
/// layout, in C order; several threads call it at the same time. `threads`: at least 1.
void add_to_blocks(
    const PanelLayout& layout, const PanelBlocks::Use& use, std::span<const std::int64_t> sums, int threads,
    const std::function<void(const PanelBlocks::BlockTiles& tiles, std::span<const std::int64_t> block)>& add);

}
