#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cxx/contraction/gpu_program.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/tccg.hpp"
#include "tests/contraction/planning_time.hpp"
#include "tests/contraction/random_contraction.hpp"

namespace trifuse::contraction {
namespace {

constexpr std::int64_t shared_memory_of_cta = 232448;  // bytes, of compute capability 9.0

/// Executes a plan as a kernel does, on this core, and checks what the plan promises to the kernel.
class PlanOnCore {
 public:
  PlanOnCore(const GpuPlan& plan, double alpha, const double* a, const double* b, double beta, double* c)
      : plan_(plan), alpha_(alpha), beta_(beta), c_(c) {
    rows_ = plan.rows.tensor == A ? a : b;
    columns_ = plan.columns.tensor == A ? a : b;
  }

  void run() {
    expect_lines(plan_.rows);
    expect_lines(plan_.columns);
    for (std::int32_t cta = 0; cta < plan_.ctas; ++cta) {
      Segments segments(plan_.order.size(), plan_.steps(), plan_.waves, cta, plan_.ctas);
      for (Segment part = segments.next(); part.tile >= 0; part = segments.next()) {
        compute(part);
        if (part.partial >= 0) {
          EXPECT_TRUE(slots_.insert(part.partial).second) << "each part has its own memory";
          EXPECT_LT(part.partial, 2 * plan_.ctas);
        }
        steps_done_[part.tile] += part.end - part.begin;
        if (steps_done_[part.tile] == plan_.steps()) store(part.tile);
      }
    }
    EXPECT_EQ(std::ssize(steps_done_), plan_.order.size());
    EXPECT_TRUE(sums_.empty());
  }

 private:
  void compute(const Segment& part) {
    const TileNumber number = plan_.order.at(part.tile);
    const auto batch = outer_offset(plan_.batch, number.batch);
    const TileOrigin row = tile_origin(plan_.rows.grid, number.row),
                     column = tile_origin(plan_.columns.grid, number.column);
    std::vector<double>& sum = sums_[part.tile];
    sum.resize(plan_.rows.lines.size() * plan_.columns.lines.size());
    for (std::int32_t step = part.begin; step < part.end; ++step) {
      const auto outer = outer_offset(plan_.outer_k, step / plan_.inner_steps());
      const std::int32_t first = step % plan_.inner_steps() * plan_.kernel().step;
      const std::int32_t count = std::min(plan_.kernel().step, plan_.k - first);
      const std::int32_t of_rows = row.operand + batch[0] + outer[0], of_columns = column.operand + batch[1] + outer[1];
      expect_pairs(plan_.rows, of_rows, first, count);
      expect_pairs(plan_.columns, of_columns, first, count);
      const std::int32_t *row_k = &plan_.rows.k[static_cast<std::size_t>(first)],
                         *column_k = &plan_.columns.k[static_cast<std::size_t>(first)];
      for (std::int32_t r = 0; r < plan_.rows.line_count; ++r) {
        const double* const of_row = rows_ + of_rows + plan_.rows.lines[static_cast<std::size_t>(r)].operand;
        double* const to = &sum[static_cast<std::size_t>(r) * plan_.columns.lines.size()];
        for (std::int32_t c = 0; c < plan_.columns.line_count; ++c) {
          const double* const of_column =
              columns_ + of_columns + plan_.columns.lines[static_cast<std::size_t>(c)].operand;
          for (std::int32_t k = 0; k < count; ++k) to[c] += of_row[row_k[k]] * of_column[column_k[k]];
        }
      }
    }
  }
  /// Lines that do not exist are the last ones, and are not copied.
  static void expect_lines(const GpuOperand& operand) {
    std::vector<bool> copied(operand.lines.size(), false);
    for (std::int32_t n = 0; n < operand.line_count; ++n)
      copied[operand.line_order[static_cast<std::size_t>(n)]] = true;
    for (std::size_t n = 0; n < operand.lines.size(); ++n) {
      ASSERT_EQ(copied[n], static_cast<std::int32_t>(n) < operand.line_count);
      ASSERT_EQ(copied[n], operand.lines[n].hidden >> no_line == 0);
    }
  }
  static void expect_pairs(const GpuOperand& operand, std::int32_t origin, std::int32_t first, std::int32_t count) {
    if (!operand.pairs) return;
    const bool along_k = operand.arrangement == Arrangement::k_fastest;
    for (std::size_t n = 0; n < static_cast<std::size_t>(operand.line_count); n += along_k ? 1 : 2) {
      for (std::int32_t k = first; k < first + count; k += along_k ? 2 : 1) {
        const auto at = static_cast<std::size_t>(k);
        const std::int32_t offset = origin + operand.lines[n].operand + operand.k[at];
        ASSERT_EQ(offset % 2, 0);
        if (!along_k) {
          ASSERT_EQ(origin + operand.lines[n + 1].operand + operand.k[at], offset + 1);
        }
        if (along_k && k + 1 < first + count) {
          ASSERT_EQ(origin + operand.lines[n].operand + operand.k[at + 1], offset + 1);
        }
      }
    }
  }
  void store(std::int32_t tile) {
    const TileNumber number = plan_.order.at(tile);
    const TileOrigin row = tile_origin(plan_.rows.grid, number.row),
                     column = tile_origin(plan_.columns.grid, number.column);
    const std::int32_t origin = outer_offset(plan_.batch, number.batch)[2] + row.c + column.c;
    const std::vector<double> sum = sums_[tile];
    sums_.erase(tile);
    std::size_t n = 0;
    for (const Line& r : plan_.rows.lines) {
      for (std::size_t q = 0; q < plan_.columns.lines.size(); ++q, ++n) {
        const Line& c = plan_.columns.lines[q];
        if ((r.hidden & row.hidden) != 0) continue;
        if (plan_.c_pairs && q % 2 == 0) {
          const Line& next = plan_.columns.lines[q + 1];
          ASSERT_EQ(next.hidden & column.hidden, c.hidden & column.hidden);
          if ((c.hidden & column.hidden) == 0) {
            ASSERT_EQ(next.c, c.c + 1);
            ASSERT_EQ((origin + r.c + c.c) % 2, 0);
          }
        }
        if ((c.hidden & column.hidden) != 0) continue;
        double& to = c_[origin + r.c + c.c];
        to = alpha_ * sum[n] + (beta_ == 0.0 ? 0.0 : beta_ * to);
      }
    }
  }

  const GpuPlan& plan_;
  double alpha_, beta_;
  const double *rows_, *columns_;
  double* c_;
  std::map<std::int32_t, std::vector<double>> sums_;
  std::map<std::int32_t, std::int32_t> steps_done_;
  std::set<std::int32_t> slots_;
};

GpuModel little_gpu(int multiprocessors, bool matrix_instructions) {
  GpuModel gpu;
  gpu.multiprocessors = multiprocessors;
  gpu.matrix_instructions = matrix_instructions;
  return gpu;
}

void check_random_plans(std::uint32_t seed, bool gaps) {
  ExpectedContraction random(seed, 1e3, gaps);
  const Contraction form = canonical_form(random.contraction);
  const GpuModel gpu = little_gpu(random.number(1, 5), seed % 8 != 0);
  const std::vector<GpuPlan> plans = candidates_for_gpu(form, gpu, 300);
  ASSERT_FALSE(plans.empty());
  for (int n = 0; n < 2; ++n) {
    const GpuPlan& plan =
        plans[static_cast<std::size_t>(n == 0 ? 0 : random.number(0, static_cast<int>(plans.size()) - 1))];
    SCOPED_TRACE(std::to_string(seed) + " " + random.expression + ": " + text_of(plan));
    EXPECT_LE(plan.shared_bytes(), shared_memory_of_cta);
    std::vector<double> found = random.memory[C];
    PlanOnCore(plan, random.alpha, random.first(A), random.first(B), random.beta, random.first(C, found)).run();
    expect_equal(found, random.expected, terms_of(form));
  }
}

/// Returns the packed copy of an operand. `from`: its element at offset 0.
std::vector<double> packed_copy(const GpuPacking& packing, const double* from) {
  std::vector<double> copy(static_cast<std::size_t>(packing.size), nan);
  EXPECT_EQ(packing.axes[packing.from_axis].from, 1);
  EXPECT_EQ(packing.axes[packing.to_axis].to, 1);
  EXPECT_NE(packing.from_axis, packing.to_axis);
  for (std::int64_t n = 0; n < packing.size; ++n) {
    std::int64_t rest = n, from_offset = 0, to_offset = 0;
    for (const GpuPacking::Axis& axis : packing.axes) {
      from_offset += rest % axis.extent * axis.from;
      to_offset += rest % axis.extent * axis.to;
      rest /= axis.extent;
    }
    copy[static_cast<std::size_t>(to_offset)] = from[from_offset];
  }
  return copy;
}

TEST(GpuPlan, PacksAnOperandIfThatPays) {
  const Contraction small = describe("bfae,cedf->dcba", {{12, 8, 20, 16}, {}}, {{8, 16, 14, 8}, {}});
  EXPECT_FALSE(program_for_gpu(canonical_form(small), {}).packing);
  const Contraction large = describe("bfae,cedf->dcba", {{72, 72, 72, 72}, {}}, {{72, 72, 72, 72}, {}});
  const GpuProgram program = program_for_gpu(canonical_form(large), {});
  ASSERT_TRUE(program.packing) << text_of(program);
  EXPECT_FALSE(program_for_gpu(canonical_form(large), {}, false).packing);
  EXPECT_GT(program_for_gpu(canonical_form(large), {}, false).seconds, program.seconds);

  // A GPU on which only copies to shared memory take time packs a small operand, too.
  GpuModel gpu;
  gpu.product_rate = gpu.memory_rate = gpu.cache_rate = 1e18;
  gpu.multiprocessors = 1;
  const GpuProgram packs = program_for_gpu(canonical_form(small), gpu);
  ASSERT_TRUE(packs.packing) << text_of(packs);
  std::vector<double> a(12 * 8 * 20 * 16), b(8 * 16 * 14 * 8), expected(12 * 20 * 8 * 14), found(expected.size(), nan);
  for (std::size_t n = 0; n < a.size(); ++n) a[n] = std::sin(static_cast<double>(n));
  for (std::size_t n = 0; n < b.size(); ++n) b[n] = std::cos(static_cast<double>(n));
  contract_by_loops(small, 1.0, a.data(), b.data(), 0.0, expected.data());
  const bool of_a = packs.packing->tensor == A;
  const std::vector<double> copy = packed_copy(*packs.packing, of_a ? a.data() : b.data());
  PlanOnCore(packs.plan, 1.0, of_a ? copy.data() : a.data(), of_a ? b.data() : copy.data(), 0.0, found.data()).run();
  expect_equal(found, expected, 16 * 8);
}

TEST(GpuPlan, RandomContractionsAreThoseOfTheLoops) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint32_t seeds = 35;  // to save time
#else
  constexpr std::uint32_t seeds = 360;
#endif
  for (std::uint32_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    check_random_plans(seed, false);
    check_random_plans(seed + 10000, true);
  }
}

/// Expects that the plan of a contraction in C order has the result of the loops, and returns it.
GpuPlan expect_plan_of_loops(const char* expression, const Layout& a, const Layout& b) {
  const Contraction contraction = describe(expression, a, b);
  std::array<std::vector<double>, 3> memory;
  for (const Tensor t : {A, B, C}) memory[t].resize(static_cast<std::size_t>(elements(contraction, t)));
  for (std::size_t n = 0; n < memory[A].size(); ++n) memory[A][n] = std::sin(static_cast<double>(n));
  for (std::size_t n = 0; n < memory[B].size(); ++n) memory[B][n] = std::cos(static_cast<double>(n));
  std::vector<double> expected = memory[C];
  contract_by_loops(contraction, 1.0, memory[A].data(), memory[B].data(), 0.0, expected.data());
  const GpuPlan plan = plan_for_gpu(canonical_form(contraction), {});
  PlanOnCore(plan, 1.0, memory[A].data(), memory[B].data(), 0.0, memory[C].data()).run();
  expect_equal(memory[C], expected, terms_of(contraction));
  return plan;
}

TEST(GpuPlan, TablesOfContractedValuesAreNeitherLongNorShort) {
  // Each step of a table of 20 values would have many zeros.
  const GpuPlan two = expect_plan_of_loops("kal,kbl->ab", {{1000, 3, 20}, {}}, {{1000, 5, 20}, {}});
  EXPECT_EQ(two.k, 20 * 500);
  EXPECT_EQ(two.outer_k.size, 2);
  const GpuPlan one = expect_plan_of_loops("ak,bk->ab", {{3, 40000}, {}}, {{5, 40000}, {}});
  EXPECT_EQ(one.k, 10000);
  EXPECT_TRUE(one.rows.pairs && one.columns.pairs);
  // No divisor suits.
  EXPECT_EQ(expect_plan_of_loops("ak,bk->ab", {{2, 16411}, {}}, {{2, 16411}, {}}).k, 16411);
  // All values share one element.
  constexpr std::int64_t many = 1 << 30;
  const GpuPlan shared = plan_for_gpu(canonical_form(describe("k,k->", {{many}, {0}}, {{many}, {0}})), {});
  EXPECT_EQ(std::int64_t{shared.k} * shared.outer_k.size, many);
  EXPECT_LE(std::ssize(shared.rows.k), 1 << 14);
}

TEST(GpuPlan, TilesAreNoLargerThanTheirNumberNeeds) {
  constexpr std::int32_t sector = 4;  // doubles
  for (const TccgContraction& entry : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(entry);
    const Contraction form = canonical_form(describe(entry.expression, layouts[A], layouts[B], layouts[C]));
    for (const GpuPlan& plan : candidates_for_gpu(form, {}, 100)) {
      for (const GpuOperand* operand : {&plan.rows, &plan.columns}) {
        for (std::int32_t n = 0; n < operand->grid.axes; ++n) {
          const TileGrid::Axis& axis = operand->grid.axis[static_cast<std::size_t>(n)];
          if (axis.values % sector != 0 || axis.values == sector || axis.tiles.number() == 1) continue;
          const std::int32_t fewer = axis.values - sector;
          ASSERT_GT((axis.last + axis.values + fewer - 1) / fewer, axis.tiles.number()) << text_of(plan);
        }
      }
    }
  }
}

TEST(GpuPlan, IsMadeInAMillisecond) {
  constexpr double limit = 1e-3;
  double longest = 0.0;
  for (const TccgContraction& entry : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(entry);
    longest =
        std::max(longest, planning_time(limit, [&] {
                   plan_for_gpu(canonical_form(describe(entry.expression, layouts[A], layouts[B], layouts[C])), {});
                 }));
  }
  EXPECT_LT(longest, limit);
}

}
}
