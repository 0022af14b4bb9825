#include <gtest/gtest.h>

#include <cmath>

#include "cxx/base/error.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/slices.hpp"
#include "tests/contraction/random_contraction.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::contraction {
namespace {

using testing::expect_failure;

/// Executes slices by the loops.
void run(const std::vector<Slice>& slices, RandomContraction& random, double beta, double* c) {
  for (const Slice& slice : slices) {
    contract_by_loops(slice.contraction, 0.5, random.first(A) + slice.offset[A], random.first(B) + slice.offset[B],
                      slice.accumulates ? 1.0 : beta, c + slice.offset[C]);
  }
}

void expect_result_of_loops(const std::vector<Slice>& slices, RandomContraction& random) {
  const double beta = random.number(0, 1) == 0 ? 0.0 : -0.7;
  std::vector<double> expected = random.memory[C], found = expected;
  contract_by_loops(random.contraction, 0.5, random.first(A), random.first(B), beta, random.first(C, expected));
  run(slices, random, beta, random.first(C, found));
  constexpr double rounding = 1e-12;
  for (std::size_t n = 0; n < found.size(); ++n) {
    ASSERT_LE(std::abs(found[n] - expected[n]), rounding) << random.expression << ": element " << n;
  }
}

std::vector<Slice> list(const Slices& slices) {
  std::vector<Slice> all;
  for (std::int64_t series = 0; series < slices.series(); ++series) {
    for (std::int64_t n = 0; n < slices.length(); ++n) all.push_back(slices.slice(series, n));
  }
  return all;
}

std::vector<std::string> names(const Slices& slices) {
  std::vector<std::string> found;
  for (const Slices::Cut& cut : slices.cuts()) found.push_back(slices.contraction().indices[cut.index].name);
  return found;
}

TEST(Slices, ReachIsLimitedAndTheResultIsThatOfTheLoops) {
  for (std::uint32_t seed = 0; seed < 600 && !::testing::Test::HasFailure(); ++seed) {
    RandomContraction random(seed, 3e3, seed % 2 == 1);
    const std::int64_t most = random.number(1, 300);
    const std::vector<Slice> slices = slice_to_reach(random.contraction, most);
    for (const Slice& slice : slices) {
      for (const Tensor t : {A, B, C}) {
        const OffsetRange range = offset_range(slice.contraction, t);
        ASSERT_LT(range.last - range.first, most) << seed;
      }
    }
    expect_result_of_loops(slices, random);
  }
}

TEST(Slices, ReachCutsContractedIndicesOnlyIfItMust) {
  const auto count = [](const Contraction& contraction, std::int64_t most) {
    std::int64_t accumulating = 0;
    const std::vector<Slice> slices = slice_to_reach(contraction, most);
    for (const Slice& slice : slices) accumulating += slice.accumulates ? 1 : 0;
    return std::pair(std::ssize(slices), accumulating);
  };
  const Contraction product = describe("ik,jk->ij", {{10000, 1000}, {}}, {{100, 1000}, {}});
  using Counts = std::pair<std::ptrdiff_t, std::int64_t>;
  EXPECT_EQ(count(product, 10000000), Counts(1, 0));
  EXPECT_EQ(count(product, 5000000), Counts(2, 0));
  EXPECT_EQ(count(product, 9999000), Counts(2, 0));
  EXPECT_EQ(count(describe("ki,kj->ij", {{1000, 10000}, {}}, {{1000, 100}, {}}), 5000000), Counts(2, 1));
  EXPECT_EQ(count(describe("ab,bc->ac", {{1000000, 0}, {}}, {{0, 8}, {}}), 4000000), Counts(2, 0));
  EXPECT_EQ(count(describe("ab,bc->ac", {{0, 1000000}, {}}, {{1000000, 8}, {}}), 10), Counts(1, 0));
}

TEST(Slices, TermsOfASumAreLimited) {
  constexpr std::int64_t million = 1 << 20, most = std::int64_t{1} << 31;
  const auto shared = [&](std::int64_t x, std::int64_t y) {  // all terms read one element of A and one of B
    return describe("xy,xy->", {{x, y}, {0, 0}}, {{x, y}, {0, 0}});
  };
  EXPECT_EQ(slice_to_reach(shared(million, 1024), most).size(), 1u);
  double terms = 0.0;
  for (const Slice& slice : slice_to_reach(shared(million, 10001), most)) {
    EXPECT_LE(terms_of(slice.contraction), static_cast<double>(most));
    EXPECT_EQ(slice.accumulates, terms > 0.0);
    terms += terms_of(slice.contraction);
  }
  EXPECT_EQ(terms, static_cast<double>(million) * 10001.0);
  expect_failure<UsageError>([&] { slice_to_reach(shared(most, most), most); }, "or the sum has too many terms");
}

TEST(Slices, FitIntoMemoryAndTheResultIsThatOfTheLoops) {
  for (std::uint32_t seed = 0; seed < 600 && !::testing::Test::HasFailure(); ++seed) {
    RandomContraction random(seed, 3e3, seed % 2 == 1);
    random.contraction = canonical_form(random.contraction);
    const std::int64_t memory =
        std::max<std::int64_t>(48, static_cast<std::int64_t>(bytes(random.contraction, false)) / random.number(1, 20));
    const Slices slices = slices_for_memory(random.contraction, memory);
    EXPECT_LE(bytes_on_device(slices), static_cast<double>(memory)) << random.expression;
    expect_result_of_loops(list(slices), random);
  }
}

TEST(Slices, FewBytesMove) {
  using Names = std::vector<std::string>;
  constexpr std::int64_t gigabyte = 1 << 30;
  const auto slices = [](const Contraction& contraction, std::int64_t memory) {
    return slices_for_memory(canonical_form(contraction), memory);
  };
  // A and C are large, B stays on the device.
  const Slices tall = slices(describe("ak,bk->ab", {{1000000, 1000}, {}}, {{1000, 1000}, {}}), gigabyte);
  EXPECT_EQ(names(tall), Names{"a"});
  EXPECT_FALSE(tall.cuts_tensor(B));
  // Three large tensors: both external indices are cut, not the contracted one.
  const Contraction square = describe("ik,kj->ij", {{40000, 40000}, {}}, {{40000, 40000}, {}});
  const Slices both = slices(square, 10 * gigabyte);
  EXPECT_EQ(both.cuts().size(), 2u);
  EXPECT_EQ(both.length(), 1);
  // The result is small: only the contracted index makes slices small.
  const Slices small = slices(describe("ka,kb->ab", {{10000000, 100}, {}}, {{10000000, 100}, {}}), gigabyte);
  EXPECT_EQ(names(small), Names{"k"});
  EXPECT_EQ(small.series(), 1);
  // Everything fits, but copies shall overlap with computing.
  const Slices fits = slices(square, 100 * gigabyte);
  EXPECT_EQ(fits.length(), 1);
  EXPECT_EQ(fits.text(), "32 slices: 1256 of i");
  // A small contraction is one slice.
  EXPECT_EQ(slices(describe("ik,kj->ij", {{100, 100}, {}}, {{100, 100}, {}}), gigabyte).text(), "1 slice");
  // Nothing to multiply.
  EXPECT_EQ(slices(describe("ab,bc->ac", {{100, 0}, {}}, {{0, 8}, {}}), 1).series(), 1);
}

TEST(Slices, TooLittleMemoryIsRefused) {
  const Contraction product = describe("ik,kj->ij", {{40000, 40000}, {}}, {{40000, 40000}, {}});
  expect_failure<UsageError>([&] { slices_for_memory(product, 1000); }, "With 1000 bytes of memory on a GPU");
}

}
}
