#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/index_space.hpp"

#pragma GCC visibility push(default)

namespace trifuse::contraction {

/// How CPU cores compute a contraction: which indices are the rows and the columns of the matrices, how they are
/// divided into blocks, and which blocks are packed. The plan depends on the contraction and on the number of cores of
/// the machine, not on the number of threads, and so do the bits of the result.
///
/// Small matrices are multiplied by loops without BLAS, see `loops`. The loops of a run with BLAS, outermost first:
///
///     for each batch                      matrices with the same rows and columns
///       for each block of `k`             the first one multiplies C by beta
///         for each strip of the columns    if they are packed: the strip is packed once
///           for each block of the rows    on different threads; if packed: into the memory of the thread
///             for each block of the columns
///               one DGEMM                 into C, or into the memory of the thread and then into C
struct CpuPlan {
  /// Each batch is multiplied by loops. Nothing is divided or packed. External indices may be among those of `batch`.
  bool loops = false;
  Tensor row_operand = A;     ///< the operand with the external indices of `rows`: A or B
  Tensor column_operand = B;  ///< the other one
  IndexSpace batch;           ///< one block for each combination
  IndexSpace rows, columns, k;
  IndexSpace strips;               ///< the space of `columns`, divided into strips
  bool packs_rows = false;         ///< blocks of `row_operand` are packed
  bool packs_columns = false;      ///< blocks of `column_operand` are packed
  bool stages_result = false;      ///< blocks of C are computed elsewhere and then copied
  std::int64_t column_groups = 1;  ///< parts into which the blocks of columns of a strip are divided for the threads
  bool batch_on_threads = false;   ///< a thread computes a batch alone
  double predicted_seconds = 0.0;  ///< on one thread, in units of a typical core; good for comparisons only
};

/// Most contracted combinations of a plan with `loops`.
inline constexpr std::int64_t longest_loop = 256;

/// Sizes to which plans keep. Tests make them small.
struct CpuLimits {
  std::int64_t k = 2048;                   ///< contracted combinations of a block, if an operand is packed
  std::int64_t strip = 4 << 20;            ///< elements of a strip that all threads read
  std::int64_t strip_of_thread = 1 << 20;  ///< elements of a strip of one thread
  std::int64_t packed_block = 1 << 19;     ///< elements of a block of rows or of C in the memory of a thread
  std::int64_t block_divisor = 1;          ///< blocks of rows and of columns are smaller by this factor
  double shared_products = 2e6;            ///< several threads share a batch of so many multiplications or more
};

/// Returns the plan with the smallest predicted time. `contraction`: in the canonical form, with no extent 0.
CpuPlan plan_for_cpu(const Contraction& contraction, const CpuLimits& limits = {});
/// Returns all plans from which plan_for_cpu() chooses.
std::vector<CpuPlan> candidates_for_cpu(const Contraction& contraction, const CpuLimits& limits = {});

/// Returns the memory that a thread needs for packed operands and results, bytes.
std::int64_t bytes_of_thread(const CpuPlan& plan);

/// Describes a plan in one line: operands, blocks and the predicted time.
std::string text_of(const CpuPlan& plan);

/// A matrix as BLAS takes it.
struct BlasMatrix {
  bool possible = false;    ///< false: no operand of BLAS has these strides
  bool transposed = false;  ///< true: rows are contiguous
  std::int64_t lead = 0;    ///< elements from one contiguous row or column to the next
};
/// Describes a matrix with these strides. `rows`, `columns`: at least 1.
BlasMatrix blas_matrix(std::int64_t rows, std::int64_t row_stride, std::int64_t columns, std::int64_t column_stride);

}

#pragma GCC visibility pop
