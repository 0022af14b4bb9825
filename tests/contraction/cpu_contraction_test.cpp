#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string_view>

#include "cxx/base/blas.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/tccg.hpp"
#include "tests/contraction/planning_time.hpp"
#include "tests/contraction/random_contraction.hpp"

namespace trifuse::contraction {
namespace {

/// Limits with which small contractions have many blocks, strips and groups. Several threads meet after each strip, so
/// they have larger ones, to save time.
CpuLimits small_limits(bool batch_on_threads, int threads) {
  const std::int64_t strip = threads == 1 ? 60 : 2000;
  return {threads == 1 ? 5 : 100, strip, 30, 1 << 19, 32, batch_on_threads ? 1e9 : 0.0};
}

/// Returns numbers for all elements of a tensor without gaps.
std::vector<double> some_numbers(const Contraction& contraction, Tensor tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(elements(contraction, tensor)));
  for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = std::sin(static_cast<double>(n + 7 * tensor));
  return numbers;
}

/// Compares one random contraction with the loops: the chosen plan, and a random plan with small limits.
void check_random(std::uint32_t seed, bool gaps) {
  ExpectedContraction random(seed, 2e4, gaps);
  const auto check = [&](const CpuContraction& contraction) {
    std::vector<double> found = random.memory[C];
    contraction.run(random.alpha, random.first(A), random.first(B), random.beta, random.first(C, found));
    SCOPED_TRACE(std::to_string(seed) + " " + random.expression + ": " + contraction.text());
    expect_equal(found, random.expected, terms_of(random.contraction));
  };
  check(CpuContraction(random.contraction, 1));
  const Contraction form = canonical_form(random.contraction);
  const int threads = random.number(0, 39) == 0 ? 2 : 1;
  const std::vector<CpuPlan> plans = candidates_for_cpu(form, small_limits(random.number(0, 1) == 1, threads));
  ASSERT_FALSE(plans.empty());
  for (int n = 0; n < 3; ++n) {
    const CpuPlan& plan = plans[static_cast<std::size_t>(random.number(0, static_cast<int>(plans.size()) - 1))];
    check(CpuContraction(form, plan, threads));
  }
}

TEST(CpuContraction, RandomContractionsAreThoseOfTheLoops) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::uint32_t seeds = 100;  // to save time
#else
  constexpr std::uint32_t seeds = 1500;
#endif
  for (std::uint32_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    check_random(seed, false);
    check_random(seed + 10000, true);
  }
}

TEST(CpuContraction, TccgContractionsAreThoseOfTheLoops) {
  for (const TccgContraction& entry : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(entry, 1e-4);
    const Contraction contraction = describe(entry.expression, layouts[A], layouts[B], layouts[C]);
    const std::vector<double> a = some_numbers(contraction, A), b = some_numbers(contraction, B);
    std::vector<double> c(static_cast<std::size_t>(elements(contraction, C)), nan), expected = c;
    contract_by_loops(contraction, 1.0, a.data(), b.data(), 0.0, expected.data());
    const CpuContraction planned(contraction, 2);
    planned.run(1.0, a.data(), b.data(), 0.0, c.data());
    SCOPED_TRACE(std::to_string(entry.number) + ": " + planned.text());
    expect_equal(c, expected, terms_of(contraction));
  }
}

TEST(CpuContraction, SmallProductsOfABatch) {
  constexpr std::int64_t batches = 600;
  for (const char* const expression : {"xik,xkj->xij", "xki,xjk->jxi", "ki,xkj->xij"}) {
    for (const std::int64_t n : {1, 2, 3, 5, 8, 11, 20}) {
      const auto layout = [&](std::string_view letters) {
        Layout of;
        for (const char letter : letters)
          of.extents.push_back(letter == 'x' ? batches : letter == 'i' ? n : letter == 'k' ? n + 1 : n + 2);
        return of;
      };
      const std::string_view text = expression;
      const std::size_t comma = text.find(',');
      const Contraction contraction = describe(text, layout(text.substr(0, comma)), layout(text.substr(comma + 1, 3)));
      const std::vector<double> a = some_numbers(contraction, A), b = some_numbers(contraction, B);
      std::vector<double> c = some_numbers(contraction, C), expected = c;
      contract_by_loops(contraction, 0.5, a.data(), b.data(), -1.0, expected.data());
      const CpuContraction planned(contraction, n % 2 == 0 ? 2 : 1);
      planned.run(0.5, a.data(), b.data(), -1.0, c.data());
      SCOPED_TRACE(std::string(expression) + ": " + planned.text());
      expect_equal(c, expected, terms_of(contraction));
      // DGEMM with a path of its own for small matrices may be faster, but not for the smallest.
      const bool may_be_dgemm = n == 1 || (n > 5 && small_dgemm_products() > 0.0);
      EXPECT_TRUE(may_be_dgemm || plan_for_cpu(canonical_form(contraction)).loops) << planned.text();
    }
  }
}

TEST(CpuContraction, SameBitsOnAnyNumberOfThreads) {
  const Contraction contraction = describe("eafb,dfce->abcd", {{12, 20, 17, 16}, {}}, {{19, 17, 15, 12}, {}});
  const std::vector<double> a = some_numbers(contraction, A), b = some_numbers(contraction, B);
  std::vector<double> first;
  for (const int threads : {1, 2, 3}) {
    std::vector<double> c(static_cast<std::size_t>(elements(contraction, C)));
    CpuContraction(contraction, threads).run(0.3, a.data(), b.data(), 0.0, c.data());
    if (first.empty()) first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(double)), 0) << threads;
  }
}

TEST(CpuContraction, WithoutProductsCIsMultipliedByBeta) {
  std::vector<double> c = {1.0, 2.0, 3.0, nan};
  const Contraction no_terms = describe("ab,bc->ac", {{2, 0}, {}}, {{0, 2}, {}}, Layout{{2, 2}, {1, 2}});
  CpuContraction(no_terms, 1).run(1.0, nullptr, nullptr, 0.5, c.data());
  EXPECT_EQ(c[2], 1.5);
  CpuContraction(no_terms, 1).run(1.0, nullptr, nullptr, 0.0, c.data());
  EXPECT_EQ(c, std::vector<double>(4, 0.0));
  CpuContraction(describe("ab,bc->ac", {{0, 3}, {}}, {{3, 2}, {}}), 1).run(1.0, nullptr, c.data(), 0.0, nullptr);
}

TEST(CpuContraction, IsPlannedInAMillisecond) {
  constexpr double limit = 1e-3;
  double longest = 0.0;
  for (const TccgContraction& entry : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(entry);
    longest = std::max(longest, planning_time(limit, [&] {
                         plan_for_cpu(canonical_form(describe(entry.expression, layouts[A], layouts[B], layouts[C])));
                       }));
  }
  EXPECT_LT(longest, limit);
}

}
}
