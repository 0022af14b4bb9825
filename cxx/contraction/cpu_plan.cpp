#include "cxx/contraction/cpu_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cxx/contraction/cpu_model.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::size_t max_orders = 6;
/// Sizes of blocks of rows and of columns from which plans choose.
// clang-format off
constexpr std::array<std::array<std::int64_t, 2>, 16> block_sizes = {{
    {24, 256}, {256, 24}, {48, 144}, {144, 48}, {96, 96}, {128, 256}, {256, 128}, {64, 1024}, {1024, 64},
    {24, 4096}, {4096, 24}, {256, 1024}, {1024, 256}, {512, 512}, {960, 960}, {4096, 4096}}};
// clang-format on

std::vector<Index> sorted(std::vector<Index> indices, Tensor by) {
  std::stable_sort(indices.begin(), indices.end(),
                   [&](const Index& x, const Index& y) { return std::abs(x.stride[by]) > std::abs(y.stride[by]); });
  return indices;
}

bool same_order(const std::vector<Index>& first, const std::vector<Index>& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Index& x, const Index& y) { return x.name == y.name; });
}

/// A division of a space into blocks.
struct Cut {
  std::size_t axis;
  std::int64_t step;
  std::size_t first_equal;  ///< the first of `block_sizes` with this division
};

/// A space of rows, columns or contracted indices in one order, and its divisions.
class Order {
 public:
  explicit Order(const std::vector<Index>& indices) : space_(indices) {}

  const IndexSpace& space() const { return space_; }
  /// Returns the divisions for all block sizes. `side`: 0 for rows, 1 for columns. `first`: where the cut may be.
  const std::array<Cut, block_sizes.size()>& cuts(std::size_t side, std::size_t first, std::int64_t divisor) const {
    auto& known = cuts_[side][first];
    if (known) return *known;
    known.emplace();
    IndexSpace space = space_;
    for (std::size_t n = 0; n < block_sizes.size(); ++n) {
      space.cut_to(block_sizes[n][side] / divisor, first);
      Cut& cut = (*known)[n] = {space.cut_axis(), space.step(), 0};
      while ((*known)[cut.first_equal].axis != cut.axis || (*known)[cut.first_equal].step != cut.step)
        ++cut.first_equal;
    }
    return *known;
  }

 private:
  IndexSpace space_;
  /// [side, first]. They are kept because each is asked for many times.
  mutable std::array<std::array<std::optional<std::array<Cut, block_sizes.size()>>, max_indices + 1>, 2> cuts_;
};

/// Orders of indices that may be good: by their strides in one of two tensors, and each index innermost.
std::vector<Order> orders_of(const std::vector<Index>& indices, Tensor first, Tensor second) {
  std::vector<std::vector<Index>> orders;
  const auto add = [&](std::vector<Index> order) {
    const bool known =
        std::any_of(orders.begin(), orders.end(), [&](const auto& other) { return same_order(order, other); });
    if (!known && orders.size() < max_orders) orders.push_back(std::move(order));
  };
  for (const Tensor by : {first, second}) add(sorted(indices, by));
  for (const Tensor by : {first, second}) {
    for (std::size_t n = indices.size(); n-- > 0;) {
      std::vector<Index> order = sorted(indices, by);
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(n), order.begin() + static_cast<std::ptrdiff_t>(n) + 1,
                  order.end());
      add(std::move(order));
    }
  }
  return {orders.begin(), orders.end()};
}

/// Chooses strips of the columns that fit into the memory for packed columns.
void choose_strips(CpuPlan& plan, const CpuLimits& limits) {
  plan.strips = plan.columns;
  plan.strips.cut(0, std::numeric_limits<std::int64_t>::max());
  if (!plan.packs_columns) return;
  const std::int64_t most = plan.batch_on_threads ? limits.strip_of_thread : limits.strip;
  const std::int64_t wanted = std::max<std::int64_t>(1, most / plan.k.block_size());
  if (plan.columns.size() <= wanted) return;
  plan.strips.cut_to(wanted, 0);
  const std::size_t inner = plan.columns.cut_axis();
  const std::int64_t step = plan.columns.step();
  if (plan.strips.cut_axis() > inner || plan.strips.block_size() < plan.columns.block_size()) {
    plan.strips.cut(inner, step);
  } else if (plan.strips.cut_axis() == inner) {
    plan.strips.cut(inner, plan.strips.step() / step * step);
  }
}

/// Divides rows and columns into groups for the threads.
void choose_groups(CpuPlan& plan, const CpuLimits& limits) {
  constexpr double units_of_core = 4.0;
  const double m = static_cast<double>(plan.rows.size()), n = static_cast<double>(plan.columns.size()),
               k = static_cast<double>(plan.k.size());
  const double wanted = units_of_core * machine_cores();
  plan.batch_on_threads = static_cast<double>(plan.batch.size()) >= wanted || m * n * k < limits.shared_products;
  const double rows = static_cast<double>(plan.rows.blocks());
  const auto groups = static_cast<std::int64_t>(std::ceil(wanted / rows));
  plan.column_groups = plan.batch_on_threads ? 1 : std::clamp<std::int64_t>(groups, 1, plan.columns.blocks());
}

/// Calls `visit(plan)` for each possible plan, without its strips. It returns a limit, s: the predicted time of later
/// plans that are not faster may be too short, but not below the limit.
template <typename Visit>
class CpuSearch {
 public:
  CpuSearch(const Contraction& contraction, const CpuLimits& limits, Visit visit)
      : contraction_(contraction), limits_(limits), visit_(visit) {}

  void all() {
    CpuPlan plan;
    plan.batch = IndexSpace(contraction_.of_class(IndexClass::batch));
    plan.batch.cut_to(1, 0);
    const std::vector<Order> of_a = orders_of(contraction_.of_class(IndexClass::external_a), C, A),
                             of_b = orders_of(contraction_.of_class(IndexClass::external_b), C, B),
                             of_k = orders_of(contraction_.of_class(IndexClass::contracted), A, B);
    for (const bool swapped : {false, true}) {
      plan.row_operand = swapped ? B : A;
      plan.column_operand = swapped ? A : B;
      const std::vector<Order>&of_rows = swapped ? of_b : of_a, &of_columns = swapped ? of_a : of_b;
      try_loops(plan, contraction_.of_class(swapped ? IndexClass::external_b : IndexClass::external_a),
                contraction_.of_class(swapped ? IndexClass::external_a : IndexClass::external_b));
      for (const Order& rows : of_rows) {
        for (const Order& columns : of_columns) {
          for (const Order& k : of_k) {
            plan.rows = rows.space();
            plan.columns = columns.space();
            plan.k = k.space();
            try_packing(plan, rows, columns);
          }
        }
      }
    }
  }

 private:
  /// Tries loops over small matrices. The slowest external indices may count as batches.
  void try_loops(CpuPlan plan, const std::vector<Index>& rows, const std::vector<Index>& columns) {
    plan.loops = true;
    plan.batch_on_threads = true;
    plan.k = IndexSpace(contraction_.of_class(IndexClass::contracted));
    for (std::size_t r = 0; r <= rows.size(); ++r) {
      for (std::size_t c = 0; c <= columns.size(); ++c) {
        plan.rows = IndexSpace(std::span(rows).subspan(r));
        plan.columns = IndexSpace(std::span(columns).subspan(c));
        if (!fits_cache(plan.rows.size(), plan.columns.size(), plan.k.size())) continue;
        std::vector<Index> batch = contraction_.of_class(IndexClass::batch);
        batch.insert(batch.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(r));
        batch.insert(batch.end(), columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(c));
        plan.batch = IndexSpace(batch);
        plan.predicted_seconds = seconds_of_loops(plan);
        limit_ = visit_(std::as_const(plan));
      }
    }
  }

  static bool fits_cache(std::int64_t m, std::int64_t n, std::int64_t k) {
    constexpr std::int64_t most = 4096;  // elements
    return k <= longest_loop && m <= most && n <= most && m * k + n * k + m * n <= most;
  }

  void try_packing(CpuPlan& plan, const Order& rows, const Order& columns) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      plan.packs_rows = (bits & 1U) != 0;
      plan.packs_columns = (bits & 2U) != 0;
      plan.stages_result = (bits & 4U) != 0;
      try_blocks(plan, rows, columns);
    }
  }

  void try_blocks(CpuPlan& plan, const Order& rows, const Order& columns) {
    const auto begin = [](const IndexSpace& space, Tensor tensor, bool copied) {
      return copied ? std::size_t{0} : space.begin_of_run(tensor);
    };
    const std::size_t first_k = std::max(begin(plan.k, plan.row_operand, plan.packs_rows),
                                         begin(plan.k, plan.column_operand, plan.packs_columns));
    const std::size_t first_row =
        std::max(begin(plan.rows, plan.row_operand, plan.packs_rows), begin(plan.rows, C, plan.stages_result));
    const std::size_t first_column = std::max(begin(plan.columns, plan.column_operand, plan.packs_columns),
                                              begin(plan.columns, C, plan.stages_result));
    plan.k.cut_to(plan.packs_rows || plan.packs_columns ? limits_.k : std::numeric_limits<std::int64_t>::max(),
                  first_k);
    const auto &of_rows = rows.cuts(0, first_row, limits_.block_divisor),
               &of_columns = columns.cuts(1, first_column, limits_.block_divisor);
    std::bitset<block_sizes.size() * block_sizes.size()> tried;  // [cut of rows, cut of columns]
    for (std::size_t size = 0; size < block_sizes.size(); ++size) {
      const Cut &row = of_rows[size], &column = of_columns[size];
      const std::size_t both = row.first_equal * block_sizes.size() + column.first_equal;
      if (tried[both]) continue;
      tried[both] = true;
      plan.rows.cut(row.axis, row.step);
      plan.columns.cut(column.axis, column.step);
      if (!possible(plan)) continue;
      choose_groups(plan, limits_);
      plan.predicted_seconds = seconds_of_blocks(plan, limit_);
      limit_ = visit_(std::as_const(plan));
    }
  }

  /// Returns true if BLAS can multiply the blocks that are not packed, and the others fit into memory.
  bool possible(const CpuPlan& plan) const {
    const std::int64_t m = plan.rows.block_size(), n = plan.columns.block_size(), k = plan.k.block_size();
    const auto matrix = [](const IndexSpace& x, std::int64_t x_size, const IndexSpace& y, std::int64_t y_size,
                           Tensor t) { return blas_matrix(x_size, x.stride(t), y_size, y.stride(t)).possible; };
    return (!plan.packs_rows || m * k <= limits_.packed_block) &&
           (!plan.stages_result || m * n <= limits_.packed_block) && (!plan.packs_columns || n * k <= limits_.strip) &&
           (plan.packs_rows || matrix(plan.rows, m, plan.k, k, plan.row_operand)) &&
           (plan.packs_columns || matrix(plan.columns, n, plan.k, k, plan.column_operand)) &&
           (plan.stages_result || matrix(plan.rows, m, plan.columns, n, C));
  }

  const Contraction& contraction_;
  const CpuLimits& limits_;
  Visit visit_;
  double limit_ = std::numeric_limits<double>::infinity();
};

}

BlasMatrix blas_matrix(std::int64_t rows, std::int64_t row_stride, std::int64_t columns, std::int64_t column_stride) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (column_stride == 1 || columns == 1) {
    const std::int64_t lead = rows == 1 ? columns : row_stride;
    if (lead >= columns && lead <= most) return {true, false, lead};
  }
  if (row_stride == 1 || rows == 1) {
    const std::int64_t lead = columns == 1 ? rows : column_stride;
    if (lead >= rows && lead <= most) return {true, true, lead};
  }
  return {};
}

CpuPlan plan_for_cpu(const Contraction& contraction, const CpuLimits& limits) {
  CpuPlan best;
  best.predicted_seconds = std::numeric_limits<double>::infinity();
  CpuSearch(contraction, limits, [&](const CpuPlan& plan) {
    if (plan.predicted_seconds < best.predicted_seconds) best = plan;
    return best.predicted_seconds;
  }).all();
  choose_strips(best, limits);
  return best;
}

std::vector<CpuPlan> candidates_for_cpu(const Contraction& contraction, const CpuLimits& limits) {
  std::vector<CpuPlan> plans;
  CpuSearch(contraction, limits, [&](const CpuPlan& plan) {
    plans.push_back(plan);
    return std::numeric_limits<double>::infinity();
  }).all();
  for (CpuPlan& plan : plans) choose_strips(plan, limits);
  return plans;
}

std::int64_t bytes_of_thread(const CpuPlan& plan) {
  const std::int64_t m = plan.rows.block_size(), n = plan.columns.block_size(), k = plan.k.block_size();
  std::int64_t elements = (plan.packs_rows ? m * k : 0) + (plan.stages_result ? m * n : 0);
  if (plan.packs_columns && plan.batch_on_threads) elements += plan.strips.block_size() * k;
  return elements * static_cast<std::int64_t>(sizeof(double));
}

std::string text_of(const CpuPlan& plan) {
  const auto treated = [](bool copied) { return copied ? "packed" : "in place"; };
  constexpr std::array<char, 3> name = {'A', 'B', 'C'};
  if (plan.loops) {
    return fmt::format("rows of {}, columns of {}, {} batches of {} x {} x {} by loops, {:.3g} s predicted",
                       name[plan.row_operand], name[plan.column_operand], plan.batch.size(), plan.rows.size(),
                       plan.columns.size(), plan.k.size(), plan.predicted_seconds);
  }
  return fmt::format(
      "rows of {} {}, columns of {} {}, result {}, {} batches of {} x {} x {} in blocks of {} x {} x {}, {:.3g} s "
      "predicted",
      name[plan.row_operand], treated(plan.packs_rows), name[plan.column_operand], treated(plan.packs_columns),
      treated(plan.stages_result), plan.batch.size(), plan.rows.size(), plan.columns.size(), plan.k.size(),
      plan.rows.block_size(), plan.columns.block_size(), plan.k.block_size(), plan.predicted_seconds);
}

}
