#include "cxx/contraction/small_products.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/vector_clones.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::int64_t rows_at_once = 4, most_columns_at_once = 8;

/// Where the elements of the matrices are. All products of a contraction have the same offsets.
struct Offsets {
  explicit Offsets(const CpuPlan& plan)
      : row_left(all(plan.rows, plan.row_operand)),
        row_result(all(plan.rows, C)),
        column_right(all(plan.columns, plan.column_operand)),
        column_result(all(plan.columns, C)),
        k_left(all(plan.k, plan.row_operand)),
        k_right(all(plan.k, plan.column_operand)),
        right_in_a_row(is_row(plan.columns, plan.column_operand)),
        result_in_a_row(is_row(plan.columns, C)) {}

  static std::vector<std::int64_t> all(const IndexSpace& space, Tensor tensor) {
    std::vector<std::int64_t> offsets;
    offsets.reserve(static_cast<std::size_t>(space.size()));
    space.for_each([&](const auto& offset) { offsets.push_back(offset[tensor]); });
    return offsets;
  }
  static bool is_row(const IndexSpace& space, Tensor tensor) {
    return space.begin_of_run(tensor) == 0 && space.stride(tensor) == 1;
  }

  std::vector<std::int64_t> row_left, row_result, column_right, column_result, k_left, k_right;
  bool right_in_a_row, result_in_a_row;  ///< the columns follow each other in memory
};

/// One product. `left`, `right`, `result`: its first elements.
struct Product {
  const double *left, *right;
  double* result;
  double alpha, beta;
};

template <std::int64_t width>
struct Columns {
  /// The compiler chooses registers for it.
  typedef double Vector __attribute__((vector_size(width * sizeof(double)), aligned(sizeof(double)), may_alias));

  /// A function that returned a vector would depend on the instructions of the processor.
  static TRIFUSE_ALWAYS_INLINE const Vector& at(const double* from) { return *reinterpret_cast<const Vector*>(from); }

  /// Copies columns of the right matrix so that those of one contracted value follow each other.
  static TRIFUSE_ALWAYS_INLINE void pack(const Offsets& of, const double* right, std::size_t first, std::size_t columns,
                                         double* packed) {
    const std::size_t k = of.k_right.size();
    for (std::size_t n = 0; n < width; ++n) {
      const double* const column = right + of.column_right[std::min(first + n, first + columns - 1)];
      for (std::size_t x = 0; x < k; ++x) packed[x * width + n] = column[of.k_right[x]];
    }
  }

  static TRIFUSE_ALWAYS_INLINE void store(const Offsets& of, const Product& product, std::size_t row, std::size_t first,
                                          std::size_t columns, const Vector& sum) {
    double* const to = product.result + of.row_result[row];
    if (of.result_in_a_row && columns == width) {
      Vector value = product.alpha * sum;
      if (product.beta != 0.0) value += product.beta * at(to + of.column_result[first]);
      *reinterpret_cast<Vector*>(to + of.column_result[first]) = value;
      return;
    }
    for (std::size_t n = 0; n < columns; ++n) {
      double& element = to[of.column_result[first + n]];
      element = product.alpha * reinterpret_cast<const double*>(&sum)[n] +
                (product.beta == 0.0 ? 0.0 : product.beta * element);
    }
  }

  /// Multiplies all rows by columns whose elements are at `right[step(x)]`.
  template <typename Step>
  static TRIFUSE_ALWAYS_INLINE void multiply(const Offsets& of, const Product& product, std::size_t first,
                                             std::size_t columns, const double* right, const Step& step) {
    const std::size_t rows = of.row_left.size(), k = of.k_left.size();
    for (std::size_t row = 0; row < rows; row += rows_at_once) {
      const double* left[rows_at_once];
      for (std::size_t r = 0; r < rows_at_once; ++r) left[r] = product.left + of.row_left[std::min(row + r, rows - 1)];
      Vector sum[rows_at_once] = {};
      for (std::size_t x = 0; x < k; ++x) {
        const Vector values = at(right + step(x));
        const std::int64_t in_row = of.k_left[x];
        for (std::size_t r = 0; r < rows_at_once; ++r) sum[r] += left[r][in_row] * values;
      }
      for (std::size_t r = 0; r < rows_at_once && row + r < rows; ++r)
        store(of, product, row + r, first, columns, sum[r]);
    }
  }

  static TRIFUSE_ALWAYS_INLINE void multiply(const Offsets& of, const Product& product, std::size_t first) {
    const std::size_t columns = std::min<std::size_t>(width, of.column_right.size() - first);
    if (of.right_in_a_row && columns == width) {
      const auto step = [&](std::size_t x) __attribute__((always_inline)) {
        return of.k_right[x];
      };
      multiply(of, product, first, columns, product.right + of.column_right[first], step);
    } else {
      double packed[longest_loop * width];
      pack(of, product.right, first, columns, packed);
      const auto step = [](std::size_t x) __attribute__((always_inline)) {
        return x * width;
      };
      multiply(of, product, first, columns, packed, step);
    }
  }
};

TRIFUSE_VECTOR_CLONES
void multiply(const Offsets& of, const Product& product) {
  for (std::size_t first = 0; first < of.column_right.size();) {
    const std::size_t rest = of.column_right.size() - first;
    if (rest > 4) {
      Columns<8>::multiply(of, product, first);
      first += 8;
    } else if (rest > 2) {
      Columns<4>::multiply(of, product, first);
      first += 4;
    } else {
      Columns<2>::multiply(of, product, first);
      first += 2;
    }
  }
}

}

void multiply_by_loops(const CpuPlan& plan, int threads, double alpha, const std::array<const double*, 2>& operands,
                       double beta, double* c) {
  const Offsets offsets(plan);
  // A unit of work takes ten microseconds or more, if there are enough products.
  constexpr std::int64_t products_of_unit = 256, units_of_thread = 8;
  IndexSpace batch = plan.batch;
  batch.cut_to(std::clamp<std::int64_t>(batch.size() / (units_of_thread * threads), 1, products_of_unit), 0);
  share_in_turns(static_cast<std::size_t>(batch.blocks()), threads, [&](std::size_t unit) {
    batch.block(static_cast<std::int64_t>(unit)).for_each([&](const std::array<std::int64_t, 3>& offset) {
      multiply(offsets, {operands[plan.row_operand] + offset[plan.row_operand],
                         operands[plan.column_operand] + offset[plan.column_operand], c + offset[C], alpha, beta});
    });
  });
}

}
