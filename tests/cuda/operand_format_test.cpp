#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/base/least_recently_used.hpp"
#include "cxx/cuda/schedule/compiled_precisions.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/float_slices.hpp"
#include "tests/support/packed_panels.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/small_problems.hpp"

/// The format of operands in the names, sizes and programs of the host.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

constexpr OperandFormat fp64 = format_of<Fp64>(), fp32 = format_of<Fp32>(), two_floats = format_of<TwoFloats>(),
                        split_half = format_of<SplitHalf>();

/// The names in programs of a plan with operands in this format. Products and vvoo blocks are checked one by one.
std::set<PanelName> names_of(const Problem& problem, const Plan& plan, const OperandFormat& format) {
  std::set<PanelName> names;
  ContractionList contractions;
  TaskProgram program;
  for (const Task& task : plan.tasks) {
    write_program(problem, plan.tiles, task, format, contractions, program);
    for (const auto& product : program.products) {
      if (product.k_steps == 0) continue;
      EXPECT_EQ(product.a.format, format);
      EXPECT_EQ(product.b.format, format);
      names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (!vvoo.used) continue;
      EXPECT_EQ(vvoo.name.format, vvoo_format);
      names.insert(vvoo.name);
    }
  }
  return names;
}

TEST(OperandFormats, HaveTheSizesOfTheirPrecision) {
  EXPECT_EQ(fp64.bytes_per_number(), 8);
  EXPECT_EQ(fp32.bytes_per_number(), 4);
  EXPECT_EQ(two_floats.bytes_per_number(), 8);
  // Two FP16 numbers, and 16 bytes of each k-tile for a scale.
  EXPECT_EQ(split_half.bytes_per_number(), 4);
  EXPECT_EQ(split_half.a_k_tile_bytes, 4 * 16 * split_half.k_tile_depth + 16);
  EXPECT_EQ(split_half.b_k_tile_bytes, 4 * 8 * split_half.k_tile_depth + 16);
  EXPECT_EQ(2 * fp32.a_k_tile_bytes, fp64.a_k_tile_bytes);
  EXPECT_EQ(2 * fp32.b_k_tile_bytes, fp64.b_k_tile_bytes);
  EXPECT_NE(two_floats, fp32);
}

struct Other : Fp64 {
  static constexpr const char* name = "other";
};

// Formats with equal sizes differ by their names.
TEST(OperandFormats, WithTheSameSizesDiffer) {
  constexpr OperandFormat other = format_of<Other>();
  EXPECT_EQ(other.a_k_tile_bytes, fp64.a_k_tile_bytes);
  EXPECT_NE(other, fp64);
  const PanelKey key = PanelKey::left({1, 2, 3}, Side::right);
  EXPECT_NE(PanelName(key, false, other), PanelName(key, false, fp64));
}

TEST(OperandFormats, ArePartOfTheNamesOfOperandsButNotOfVvooBlocks) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const auto doubles = names_of(problem, plan, fp64), floats = names_of(problem, plan, fp32);
    ASSERT_EQ(doubles.size(), floats.size());
    std::size_t both = 0;
    for (const PanelName& name : doubles) {
      both += floats.contains(name) ? 1 : 0;
      EXPECT_TRUE(floats.contains(PanelName(name.key, name.swapped, fp32)));
      EXPECT_EQ(floats.contains(name), name.key.kind == PanelKind::vvoo);
    }
    EXPECT_GT(both, 0u);
  });
}

// A table with the keys of the panel cache.
TEST(OperandFormats, OfOnePanelAreEntriesOfTheirOwnInACache) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    LeastRecentlyUsed<PanelName, std::int64_t, PanelName::Hash> cache;
    std::size_t products = 0, vvoo = 0;
    for (const OperandFormat& format : {fp64, fp32, two_floats}) {
      for (const PanelName& name : names_of(problem, plan, format)) {
        if (format == fp64) ++(name.key.kind == PanelKind::vvoo ? vvoo : products);
        if (cache.contains(name)) continue;
        cache.add(name, packed_bytes(plan.tiles, problem.formulation, name));
      }
    }
    EXPECT_EQ(cache.size(), 3 * products + vvoo);
    for (const PanelName& name : names_of(problem, plan, fp32)) {
      const PanelName in_doubles(name.key, name.swapped, fp64);
      const std::int64_t half = name.key.kind == PanelKind::vvoo ? 1 : 2;
      EXPECT_EQ(*cache.find(in_doubles), half * *cache.find(name));
    }
    // The oldest entry is a panel of doubles; its panel of floats stays.
    const PanelName oldest = *cache.oldest();
    EXPECT_EQ(oldest.format, fp64);
    cache.remove(oldest);
    EXPECT_TRUE(oldest.key.kind == PanelKind::vvoo || cache.contains(PanelName(oldest.key, oldest.swapped, fp32)));
  });
}

TEST(OperandFormats, CountTheStepsOfTheirInstruction) {
  OperandFormat coarse = fp64;
  coarse.k_step = 16;
  for_each_small_problem([&](const Problem& problem, const Plan& plan) {
    ContractionList contractions;
    TaskProgram fine_program, coarse_program;
    for (const Task& task : plan.tasks) {
      write_program(problem, plan.tiles, task, fp64, contractions, fine_program);
      write_program(problem, plan.tiles, task, coarse, contractions, coarse_program);
      for (std::size_t n = 0; n < fine_program.products.size(); ++n) {
        EXPECT_EQ(coarse_program.products[n].k_steps, (fine_program.products[n].k_steps + 1) / 2);
      }
    }
  });
}

template <typename Precision>
double error_of(double x) {
  double sum = 0.0;
  for (int slice = 0; slice < Precision::slices; ++slice) {
    sum += static_cast<double>(Precision::slice_of(x, slice));
  }
  return std::abs(sum - x) / std::abs(x);
}

TEST(OperandFormats, KeepTheBitsOfTheirSlices) {
  double worst_of_one = 0.0;
  for (int n = 1; n < 1000; ++n) {
    const double x = std::sin(static_cast<double>(n)) * std::exp(static_cast<double>(n % 40) - 20.0);
    EXPECT_EQ(error_of<Fp64>(x), 0.0);
    EXPECT_LE(error_of<Fp32>(x), 0x1p-24);
    EXPECT_LE(error_of<TwoFloats>(x), 0x1p-48);
    worst_of_one = std::max(worst_of_one, error_of<Fp32>(x));
  }
  EXPECT_GT(worst_of_one, 0x1p-26);
}

TEST(CompiledPrecisions, AreFoundByTheirFormat) {
  int calls = 0;
  with_precision_of(fp64, [&]<typename Precision>(Precision) {
    EXPECT_EQ(format_of<Precision>(), fp64);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  for (const Shape& shape : BulkKernels::shapes) {
    with_precision_of(shape.format, [&](auto) { ++calls; });
  }
  const int all = 1 + static_cast<int>(BulkKernels::shapes.size());
  EXPECT_EQ(calls, all);
  with_precision_of(split_half, [&]<typename Precision>(Precision) { EXPECT_EQ(format_of<Precision>(), split_half); });
  expect_failure<Error>([&] { with_precision_of(fp32, [&](auto) { ++calls; }); },
                        "No kernel of this build reads operands in the format \"fp32\"");
  EXPECT_EQ(calls, all);
}

}
}
