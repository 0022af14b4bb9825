#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/panel_blocks.hpp"

/// The adjoint of what PanelLoader does: derivatives by panels, in the linear layout (DerivativeSums), and the blocks
/// whose elements stand in panels.
namespace trifuse {

/// Makes the derivatives by a block, or by a part of one, in units of the sums. Each element receives the sum over all
/// elements of panels that are copies of it; it may be larger than any integer. `blocks`: of the layout of the sums,
/// without factors. `block`: its position, and the block of which it is a part. `values`: is resized; C order.
void sum_panels(const PanelBlocks& blocks, const PanelBlocks::Use& use, const PanelBlocks::BlockShape& block,
                std::span<const std::int64_t> sums, std::vector<double>& values);

/// Sums of derivative times operand, and of their absolute values.
struct InnerProduct {
  double sum = 0.0, magnitude = 0.0;
  InnerProduct& operator+=(const InnerProduct& other) {
    sum += other.sum;
    magnitude += other.magnitude;
    return *this;
  }
  friend InnerProduct operator-(const InnerProduct& x, const InnerProduct& y) {
    return {x.sum - y.sum, x.magnitude + y.magnitude};
  }
};

/// Returns the sum of derivative times element over all blocks of a use, in units of the sums. Reads the blocks from
/// the source, on as many threads as OpenMP allows. Parameters are those of sum_panels().
InnerProduct times_blocks(const PanelBlocks& blocks, const PanelBlocks::Use& use, std::span<const std::int64_t> sums);

}
