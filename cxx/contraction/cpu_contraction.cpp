#include "cxx/contraction/cpu_contraction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/contraction/copy_axes.hpp"
#include "cxx/contraction/small_products.hpp"

namespace trifuse::contraction {

namespace {

/// A matrix in memory.
struct Matrix {
  const double* first;
  std::int64_t row_stride, column_stride;
};

/// Memory of a thread.
struct Scratch {
  Buffer rows, columns, result;
};

/// How blocks of an operand are packed: those of all combinations of external indices, one block after another. Inside
/// a block the contracted index is the fastest one if an element of it is a step of 1 in the tensor.
struct Packing {
  Packing(const IndexSpace& external, const IndexSpace& k, Tensor operand)
      : k_size(k.size()), block(external.block_size() * k_size) {
    const auto axes = k.axes();
    const bool k_fast =
        std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return axis.stride[operand] == 1; });
    row_stride = k_fast ? k_size : 1;
    k_stride = k_fast ? 1 : external.block_size();
  }
  Matrix matrix(const double* packed, std::int64_t number) const {
    return {packed + number * block, row_stride, k_stride};
  }

  std::int64_t k_size, block;  ///< contracted values; elements of a block
  std::int64_t row_stride, k_stride;
};

/// Packs all blocks of a space. `from`: the first element of the space and of `k` in the tensor.
void pack(const IndexSpace& external, const IndexSpace& k, Tensor operand, const Packing& packing, const double* from,
          double* to, int threads) {
  const auto copy = [&](std::int64_t ranges, std::int64_t step, const double* source, double* target) {
    CopyAxes axes;
    axes.add(k, 0, operand, packing.k_stride);
    if (!external.axes().empty()) {
      const std::size_t cut = external.cut_axis();
      const std::int64_t stride = external.axes()[cut].stride[operand];
      axes.add(external, cut + 1, operand, packing.row_stride);
      axes.add(step, stride, packing.row_stride * external.inside());
      axes.add(ranges, stride * step, packing.block);
      std::int64_t apart = packing.block * external.ranges();
      for (std::size_t n = cut; n-- > 0;) {
        axes.add(external.axes()[n].extent, external.axes()[n].stride[operand], apart);
        apart *= external.axes()[n].extent;
      }
    }
    share_copy(axes.span(), source, target, threads);
  };
  if (external.axes().empty()) return copy(1, 1, from, to);
  const auto& [extent, strides] = external.axes()[external.cut_axis()];
  const std::int64_t step = external.step(), whole = extent / step, rest = extent % step;
  if (whole > 0) copy(whole, step, from, to);
  if (rest > 0) copy(1, rest, from + whole * step * strides[operand], to + whole * packing.block);
}

/// One run of a plan.
class CpuRun {
 public:
  CpuRun(const CpuPlan& plan, int threads, double alpha, std::array<const double*, 2> operands, double beta, double* c)
      : plan_(plan), threads_(threads), alpha_(alpha), operands_(operands), beta_(beta), c_(c) {}

  void all() {
    const std::int64_t batches = plan_.batch.blocks();
    if (plan_.batch_on_threads && batches > 1 && threads_ > 1) {
      share_among_threads<Scratch>(static_cast<std::size_t>(batches), threads_, [&](std::size_t n, Scratch& scratch) {
        treat_batch(static_cast<std::int64_t>(n), scratch, 1);
      });
      return;
    }
    Scratch shared;
    for (std::int64_t n = 0; n < batches; ++n) treat_batch(n, shared, plan_.batch_on_threads ? 1 : threads_);
  }

 private:
  /// The spaces of the product that is computed: a strip of the columns in one block of `k`.
  struct Part {
    IndexSpace k, columns;
    std::array<std::int64_t, 3> offset;  ///< of the batch
    double beta;
    const double* packed_columns;
  };

  void treat_batch(std::int64_t batch, Scratch& scratch, int threads) {
    Part part{{}, {}, plan_.batch.block(batch).offset(), beta_, nullptr};
    for (std::int64_t n = 0; n < plan_.k.blocks(); ++n) {
      part.k = plan_.k.block(n);
      if (n > 0) part.beta = 1.0;
      for (std::int64_t strip = 0; strip < plan_.strips.blocks(); ++strip) {
        part.columns = plan_.strips.block(strip);
        part.columns.cut(plan_.columns.cut_axis() - plan_.strips.cut_axis(), plan_.columns.step());
        treat_part(part, scratch, threads);
      }
    }
  }

  void treat_part(Part& part, Scratch& scratch, int threads) {
    if (plan_.packs_columns) {
      const Packing packing(part.columns, part.k, plan_.column_operand);
      scratch.columns.reserve(static_cast<std::size_t>(part.columns.blocks() * packing.block));
      pack(part.columns, part.k, plan_.column_operand, packing,
           element(plan_.column_operand, part, part.columns, part.k), scratch.columns.data(), threads);
      part.packed_columns = scratch.columns.data();
    }
    const std::int64_t groups = std::min(plan_.column_groups, part.columns.blocks());
    const auto units = static_cast<std::size_t>(plan_.rows.blocks() * groups);
    const auto treat = [&](std::size_t unit, Scratch& own) {
      const auto number = static_cast<std::int64_t>(unit);
      treat_rows(part, plan_.rows.block(number / groups), number % groups, groups, own);
    };
    if (threads == 1 || units == 1) {
      for (std::size_t unit = 0; unit < units; ++unit) treat(unit, scratch);
    } else {
      share_among_threads<Scratch>(units, threads, treat);
    }
  }

  /// Multiplies a block of rows by one group of blocks of columns.
  void treat_rows(const Part& part, const IndexSpace& rows, std::int64_t group, std::int64_t groups, Scratch& own) {
    const Tensor operand = plan_.row_operand;
    Matrix left{element(operand, part, rows, part.k), rows.stride(operand), part.k.stride(operand)};
    if (plan_.packs_rows) {
      const Packing packing(rows, part.k, operand);
      own.rows.reserve(static_cast<std::size_t>(packing.block));
      pack(rows, part.k, operand, packing, left.first, own.rows.data(), 1);
      left = packing.matrix(own.rows.data(), 0);
    }
    const std::int64_t blocks = part.columns.blocks();
    for (std::int64_t n = group * blocks / groups; n < (group + 1) * blocks / groups; ++n) {
      const IndexSpace columns = part.columns.block(n);
      multiply_block(part, left, rows, right(part, columns, n), columns, own);
    }
  }

  Matrix right(const Part& part, const IndexSpace& columns, std::int64_t number) const {
    const Tensor operand = plan_.column_operand;
    if (part.packed_columns != nullptr)
      return Packing(part.columns, part.k, operand).matrix(part.packed_columns, number);
    return {element(operand, part, columns, part.k), columns.stride(operand), part.k.stride(operand)};
  }

  void multiply_block(const Part& part, const Matrix& left, const IndexSpace& rows, const Matrix& right,
                      const IndexSpace& columns, Scratch& own) {
    const std::int64_t m = rows.size(), n = columns.size(), k = part.k.size();
    double* const c = c_ + part.offset[C] + rows.offset()[C] + columns.offset()[C];
    if (!plan_.stages_result) {
      gemm(m, n, k, left, right, part.beta, c, rows.stride(C), columns.stride(C));
      return;
    }
    // The faster index of C is also the faster one of the staged block.
    const bool rows_fast = has_unit_stride(rows);
    const std::int64_t row_stride = rows_fast ? 1 : n, column_stride = rows_fast ? m : 1;
    own.result.reserve(static_cast<std::size_t>(m * n));
    gemm(m, n, k, left, right, 0.0, own.result.data(), row_stride, column_stride);
    CopyAxes axes;
    axes.add(rows, 0, C, row_stride, false);
    axes.add(columns, 0, C, column_stride, false);
    add_axes(axes.span(), own.result.data(), part.beta, c);
  }

  static bool has_unit_stride(const IndexSpace& space) {
    const auto axes = space.axes();
    return std::any_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.stride[C] == 1; });
  }

  /// C[m,n] = alpha * sum_x left[m,x] right[n,x] + beta * C[m,n].
  void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& left, const Matrix& right, double beta,
            double* c, std::int64_t row_stride, std::int64_t column_stride) const {
    const BlasMatrix result = blas_matrix(m, row_stride, n, column_stride),
                     x = blas_matrix(m, left.row_stride, k, left.column_stride),
                     y = blas_matrix(n, right.row_stride, k, right.column_stride);
    if (result.transposed) {
      multiply(y.transposed, !x.transposed, n, m, k, alpha_, right.first, y.lead, left.first, x.lead, beta, c,
               result.lead);
    } else {
      multiply(x.transposed, !y.transposed, m, n, k, alpha_, left.first, x.lead, right.first, y.lead, beta, c,
               result.lead);
    }
  }

  /// Returns the first element of an operand in a block.
  const double* element(Tensor operand, const Part& part, const IndexSpace& external, const IndexSpace& k) const {
    return operands_[operand] + part.offset[operand] + external.offset()[operand] + k.offset()[operand];
  }

  const CpuPlan& plan_;
  int threads_;
  double alpha_;
  std::array<const double*, 2> operands_;
  double beta_;
  double* c_;
};

/// Multiplies C by beta.
void scale(const Contraction& contraction, double beta, double* c) {
  std::array<CopyAxis, max_indices> axes;
  std::size_t count = 0;
  for (const Index& index : contraction.indices) {
    if (index.index_class != IndexClass::contracted) axes[count++] = {index.extent, 0, index.stride[C]};
  }
  scale_axes(std::span(axes).first(count), beta, c);
}

}

CpuContraction::CpuContraction(const Contraction& contraction, int threads)
    : contraction_(canonical_form(contraction)),
      has_products_(!contraction_.empty_result() && !contraction_.empty_sum()) {
  if (!has_products_) return;
  plan_ = plan_for_cpu(contraction_);
  prepare(threads);
}

CpuContraction::CpuContraction(const Contraction& contraction, const CpuPlan& plan, int threads)
    : contraction_(contraction), has_products_(true), plan_(plan) {
  prepare(threads);
}

void CpuContraction::prepare(int threads) {
  use_single_threaded_blas();
  threads_ = threads_with_blas_memory(threads, bytes_of_thread(plan_));
}

void CpuContraction::run(double alpha, const double* a, const double* b, double beta, double* c) const {
  if (contraction_.empty_result()) return;
  if (!has_products_ || alpha == 0.0) return scale(contraction_, beta, c);
  if (plan_.loops) return multiply_by_loops(plan_, threads_, alpha, {a, b}, beta, c);
  CpuRun(plan_, threads_, alpha, {a, b}, beta, c).all();
}

std::string CpuContraction::text() const {
  return has_products_ ? text_of(plan_) : "no products";
}

}
