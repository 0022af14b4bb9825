#include "cxx/contraction/cpu_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::size_t max_orders = 6;
/// Sizes of blocks of rows and of columns from which plans choose.
// clang-format off
constexpr std::array<std::array<std::int64_t, 2>, 16> block_sizes = {{
    {24, 256}, {256, 24}, {48, 144}, {144, 48}, {96, 96}, {128, 256}, {256, 128}, {64, 1024}, {1024, 64},
    {24, 4096}, {4096, 24}, {256, 1024}, {1024, 256}, {512, 512}, {960, 960}, {4096, 4096}}};
// clang-format on

/// Times of a core, nanoseconds. They are fitted to a thousand measured plans on a core with AVX-512; what counts are
/// their ratios.
struct Core {
  static constexpr double call = 150.0;         ///< a call of DGEMM
  static constexpr double inside = 0.35;        ///< it copies an element of an operand
  static constexpr double small_call = 50.0;    ///< a call of DGEMM that does not copy its operands
  static constexpr double small_inside = 0.07;  ///< it reads an element of an operand
  static constexpr double product = 1.0 / 50;   ///< a multiplication and an addition
  static constexpr double loops = 9.0;          ///< a product by loops begins
  static constexpr double loops_block = 5.0;    ///< it begins a block of four rows and eight columns
  static constexpr double loops_step = 1.1;     ///< it adds one contracted value to a block
  static constexpr double loops_pack = 0.25;    ///< it packs an element
  static constexpr double loops_store = 0.6;    ///< it stores an element alone
  static constexpr double row = 2.5;            ///< a row of a copy of ours begins
  static constexpr double copied = 0.35;        ///< an element is copied
  static constexpr double line = 2.0;           ///< a cache line is moved between memory and cache
  static constexpr double cache = 32 << 10;     ///< elements that stay in the cache
};

double machine_cores() {
  constexpr long most = 64;
  static const long cores = std::clamp(sysconf(_SC_NPROCESSORS_CONF), 1L, most);
  return static_cast<double>(cores);
}

std::vector<Index> sorted(std::vector<Index> indices, Tensor by) {
  std::stable_sort(indices.begin(), indices.end(),
                   [&](const Index& x, const Index& y) { return std::abs(x.stride[by]) > std::abs(y.stride[by]); });
  return indices;
}

bool same_order(const std::vector<Index>& first, const std::vector<Index>& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Index& x, const Index& y) { return x.name == y.name; });
}

/// Orders of indices that may be good: by their strides in one of two tensors, and each index innermost.
std::vector<IndexSpace> orders_of(const std::vector<Index>& indices, Tensor first, Tensor second) {
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
  std::vector<IndexSpace> spaces;
  for (const auto& order : orders) spaces.emplace_back(order);
  return spaces;
}

/// Returns the number of elements that follow each other in memory in a block of two spaces. `whole`: all blocks of the
/// first space count as one.
double contiguous(const IndexSpace& first, const IndexSpace& second, Tensor tensor, bool whole) {
  std::int64_t run = 1;
  // Returns the values, in the block, of the axis that continues the run; 1 if there is none.
  const auto continuing = [&](const IndexSpace& space, bool all) {
    const auto axes = space.axes();
    for (std::size_t n = all ? 0 : space.cut_axis(); n < axes.size(); ++n) {
      const std::int64_t extent = n == space.cut_axis() && !all ? space.step() : axes[n].extent;
      if (axes[n].stride[tensor] == run && extent > 1) return extent;
    }
    return std::int64_t{1};
  };
  while (true) {
    const std::int64_t more = std::max(continuing(first, whole), continuing(second, false));
    if (more == 1) return static_cast<double>(run);
    run *= more;
  }
}

/// Nanoseconds for moving an element between memory and cache if `run` elements follow each other.
double moved(double run) {
  constexpr double of_line = 8.0;
  return Core::line * (run + of_line - 1.0) / (of_line * run);
}

/// Nanoseconds for copying an element in the cache if `run` elements follow each other.
double copied(double run) {
  return Core::copied + Core::row / run;
}

/// One candidate: predicts the time of a plan whose orders, blocks and packing are set.
class Candidate {
 public:
  explicit Candidate(CpuPlan& plan) : plan_(plan) {}

  double seconds() const {
    const double batches = count(plan_.batch.size()), of_rows = count(plan_.rows.blocks()),
                 of_columns = count(plan_.columns.blocks()), of_k = count(plan_.k.blocks());
    const double m = count(plan_.rows.size()), n = count(plan_.columns.size()), k = count(plan_.k.size());
    double time = of_rows * of_columns * of_k * product();
    const double groups = count(plan_.column_groups);
    const double row_reads = plan_.packs_rows ? groups : of_columns;
    time += m * k * operand(plan_.rows, plan_.row_operand, plan_.packs_rows, false, row_reads);
    time += n * k * operand(plan_.columns, plan_.column_operand, plan_.packs_columns, true, of_rows);
    time += m * n * of_k * result();
    constexpr double nanosecond = 1e-9;
    return batches * time * nanosecond / efficiency();
  }

  /// Predicts the time of a plan with `loops`.
  double seconds_of_loops() const {
    constexpr std::int64_t rows_at_once = 4, columns_at_once = 8;
    const std::int64_t m = plan_.rows.size(), n = plan_.columns.size(), k = plan_.k.size();
    // The last columns are packed and stored one by one if they are not 2 or 4.
    const std::int64_t last = n % columns_at_once, single = last == 2 || last == 4 ? 0 : last;
    const std::int64_t packed = has_step_1(plan_.columns, plan_.column_operand) ? single : n;
    const std::int64_t stored = has_step_1(plan_.columns, C) ? single : n;
    const double blocks = count(IndexSpace::divide_up(m, rows_at_once) * IndexSpace::divide_up(n, columns_at_once));
    const double time = Core::loops + blocks * (Core::loops_block + count(k) * Core::loops_step) +
                        count(packed * k) * Core::loops_pack + count(stored * m) * Core::loops_store +
                        count(m * k) * operand(plan_.rows, plan_.row_operand, false, false, 1.0) +
                        count(n * k) * operand(plan_.columns, plan_.column_operand, false, true, 1.0) +
                        count(m * n) * result();
    constexpr double nanosecond = 1e-9;
    return count(plan_.batch.size()) * time * nanosecond / efficiency();
  }

 private:
  static double count(std::int64_t n) { return static_cast<double>(n); }

  static bool has_step_1(const IndexSpace& space, Tensor tensor) {
    return space.begin_of_run(tensor) == 0 && space.stride(tensor) == 1;
  }

  /// Returns the time of one DGEMM whose operands are in the cache.
  double product() const {
    const auto up = [](std::int64_t extent, std::int64_t unit) {
      return count(IndexSpace::divide_up(extent, unit) * unit);
    };
    const std::int64_t m = plan_.rows.block_size(), n = plan_.columns.block_size(), k = plan_.k.block_size();
    constexpr std::int64_t unit = 8, start = 6;
    const double multiplied = up(m, unit) * up(n, unit) * (count(k) + start) * Core::product;
    const double of_operands = (count(m) + count(n)) * count(k);
    return small() ? Core::small_call + multiplied + Core::small_inside * of_operands
                   : Core::call + multiplied + Core::inside * of_operands;
  }
  /// Returns true if DGEMM multiplies a block without copies of its own.
  bool small() const {
    static const double most = small_dgemm_products();
    return count(plan_.rows.block_size()) * count(plan_.columns.block_size()) * count(plan_.k.block_size()) <= most;
  }

  /// Returns the time for an element of an operand, in all of a batch. `reads`: number of times that each element is
  /// used.
  double operand(const IndexSpace& space, Tensor tensor, bool packs, bool shared, double reads) const {
    const double run = contiguous(space, plan_.k, tensor, packs && shared);
    const double read = moved(run);
    const double elements = count(space.size()) * count(plan_.k.size());
    if (!packs) return read * (elements > Core::cache ? reads_from_memory(space, reads) : 1.0);
    // Packed elements that exceed the cache pass through memory.
    const double packed = shared ? elements : count(space.block_size()) * count(plan_.k.block_size());
    const double pack = read + copied(run) + (packed > Core::cache ? 2.0 * moved(Core::cache) : 0.0);
    return shared ? pack : pack * reads;
  }
  /// Returns the number of reads from memory: a block of rows stays in the cache while the blocks of columns pass.
  double reads_from_memory(const IndexSpace& space, double reads) const {
    const double of_block = count(space.block_size()) * count(plan_.k.block_size());
    return &space == &plan_.rows && of_block < Core::cache ? 1.0 : reads;
  }

  /// Returns the time for an element of C.
  double result() const {
    const double run = contiguous(plan_.rows, plan_.columns, C, false);
    const double block = count(plan_.rows.block_size()) * count(plan_.columns.block_size());
    // DGEMM multiplies C by beta before it begins. If a block exceeds the cache, it passes through memory twice.
    const double passes = block > Core::cache && !small() ? 4.0 : 2.0;
    return passes * moved(run) + (plan_.stages_result ? copied(run) : 0.0);
  }

  /// Returns the part of the cores that is busy on average.
  double efficiency() const {
    const double units =
        plan_.batch_on_threads ? count(plan_.batch.size()) : count(plan_.rows.blocks()) * count(plan_.column_groups);
    const double cores = machine_cores();
    constexpr double waiting = 0.1;  // for the last unit
    return units / (cores * std::ceil(units / cores)) / (1.0 + waiting * cores / units);
  }

  CpuPlan& plan_;
};

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

/// Calls `visit(plan)` for each possible plan, without its strips.
template <typename Visit>
class CpuSearch {
 public:
  CpuSearch(const Contraction& contraction, const CpuLimits& limits, Visit visit)
      : contraction_(contraction), limits_(limits), visit_(visit) {}

  void all() {
    CpuPlan plan;
    plan.batch = IndexSpace(contraction_.of_class(IndexClass::batch));
    plan.batch.cut_to(1, 0);
    const std::vector<IndexSpace> of_a = orders_of(contraction_.of_class(IndexClass::external_a), C, A),
                                  of_b = orders_of(contraction_.of_class(IndexClass::external_b), C, B),
                                  of_k = orders_of(contraction_.of_class(IndexClass::contracted), A, B);
    for (const bool swapped : {false, true}) {
      plan.row_operand = swapped ? B : A;
      plan.column_operand = swapped ? A : B;
      const std::vector<IndexSpace>&of_rows = swapped ? of_b : of_a, &of_columns = swapped ? of_a : of_b;
      try_loops(plan, contraction_.of_class(swapped ? IndexClass::external_b : IndexClass::external_a),
                contraction_.of_class(swapped ? IndexClass::external_a : IndexClass::external_b));
      for (const IndexSpace& rows : of_rows) {
        for (const IndexSpace& columns : of_columns) {
          for (const IndexSpace& k : of_k) {
            plan.rows = rows;
            plan.columns = columns;
            plan.k = k;
            try_packing(plan);
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
        plan.predicted_seconds = Candidate(plan).seconds_of_loops();
        visit_(std::as_const(plan));
      }
    }
  }

  static bool fits_cache(std::int64_t m, std::int64_t n, std::int64_t k) {
    constexpr std::int64_t most = 4096;  // elements
    return k <= longest_loop && m <= most && n <= most && m * k + n * k + m * n <= most;
  }

  void try_packing(CpuPlan& plan) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      plan.packs_rows = (bits & 1U) != 0;
      plan.packs_columns = (bits & 2U) != 0;
      plan.stages_result = (bits & 4U) != 0;
      try_blocks(plan);
    }
  }

  void try_blocks(CpuPlan& plan) {
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
    std::vector<std::array<std::size_t, 4>> tried;
    for (const auto& [rows, columns] : block_sizes) {
      plan.rows.cut_to(rows / limits_.block_divisor, first_row);
      plan.columns.cut_to(columns / limits_.block_divisor, first_column);
      const std::array cuts = {plan.rows.cut_axis(), static_cast<std::size_t>(plan.rows.step()),
                               plan.columns.cut_axis(), static_cast<std::size_t>(plan.columns.step())};
      if (!possible(plan) || std::find(tried.begin(), tried.end(), cuts) != tried.end()) continue;
      tried.push_back(cuts);
      choose_groups(plan, limits_);
      plan.predicted_seconds = Candidate(plan).seconds();
      visit_(std::as_const(plan));
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
  }).all();
  choose_strips(best, limits);
  return best;
}

std::vector<CpuPlan> candidates_for_cpu(const Contraction& contraction, const CpuLimits& limits) {
  std::vector<CpuPlan> plans;
  CpuSearch(contraction, limits, [&](const CpuPlan& plan) { plans.push_back(plan); }).all();
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
