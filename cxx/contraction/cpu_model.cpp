#include "cxx/contraction/cpu_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/blas.hpp"

namespace trifuse::contraction {

namespace {

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

/// Predicts the time of a plan.
class Candidate {
 public:
  explicit Candidate(const CpuPlan& plan) : plan_(plan) {}

  double seconds(double limit) const {
    const double of_rows = count(plan_.rows.blocks()), of_columns = count(plan_.columns.blocks()),
                 of_k = count(plan_.k.blocks());
    const double m = count(plan_.rows.size()), n = count(plan_.columns.size()), k = count(plan_.k.size());
    constexpr double nanosecond = 1e-9;
    const double unit = count(plan_.batch.size()) * nanosecond / efficiency();
    double time = of_rows * of_columns * of_k * product();
    if (unit * time >= limit) return unit * time;
    time += m * n * of_k * result();
    if (unit * time >= limit) return unit * time;
    const double row_reads = plan_.packs_rows ? count(plan_.column_groups) : of_columns;
    time += m * k * operand(plan_.rows, plan_.row_operand, plan_.packs_rows, false, row_reads);
    if (unit * time >= limit) return unit * time;
    time += n * k * operand(plan_.columns, plan_.column_operand, plan_.packs_columns, true, of_rows);
    return unit * time;
  }

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

  const CpuPlan& plan_;
};

}

double machine_cores() {
  constexpr long most = 64;
  static const long cores = std::clamp(sysconf(_SC_NPROCESSORS_CONF), 1L, most);
  return static_cast<double>(cores);
}

double seconds_of_blocks(const CpuPlan& plan, double limit) {
  return Candidate(plan).seconds(limit);
}

double seconds_of_loops(const CpuPlan& plan) {
  return Candidate(plan).seconds_of_loops();
}

}
