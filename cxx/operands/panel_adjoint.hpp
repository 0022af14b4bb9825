#pragma once

#include <functional>
#include <span>

#include "cxx/operands/panel_blocks.hpp"
#include "cxx/plan/complete_sums.hpp"

/// The adjoint of what PanelLoader does: derivatives by panels, in the linear layout (DerivativeSums), and the blocks
/// whose elements stand in panels.
namespace trifuse {

/// Makes the derivatives by a block, or by a part of one, in units of the sums, and calls `use` with them, C order.
/// Each element is the sum over all elements of panels that are copies of it. `blocks`: of the layout of the sums,
/// without factors. `block`: its position, and the block of which it is a part. Exceptions are those of
/// CompleteSums::read() and of expect_in_range().
void read_block(const PanelBlocks& blocks, const PanelBlocks::Use& use_of_block, const PanelBlocks::BlockShape& block,
                const CompleteSums& sums, const std::function<void(std::span<const double>)>& use);

/// Sums of derivative times operand, and of their absolute values.
struct InnerProduct {
  double sum = 0.0, magnitude = 0.0;
  InnerProduct& operator+=(const InnerProduct& other) {
    sum += other.sum;
    magnitude += other.magnitude;
    return *this;
  }
  /// Of two arrays of the same size.
  static InnerProduct of(std::span<const double> x, std::span<const double> y);
  friend InnerProduct operator-(const InnerProduct& x, const InnerProduct& y) {
    return {x.sum - y.sum, x.magnitude + y.magnitude};
  }
};

/// Returns the sum of derivative times element over all blocks of a use, in units of the sums. Reads the blocks from
/// the source, on as many threads as OpenMP allows. Parameters are those of read_block().
InnerProduct times_blocks(const PanelBlocks& blocks, const PanelBlocks::Use& use, const CompleteSums& sums);

}
