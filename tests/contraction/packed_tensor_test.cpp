#include <gtest/gtest.h>

#include "cxx/contraction/packed_tensor.hpp"
#include "cxx/contraction/reference.hpp"
#include "cxx/contraction/slices.hpp"
#include "tests/contraction/random_contraction.hpp"

namespace trifuse::contraction {
namespace {

TEST(PackedTensor, HasNoGaps) {
  const Contraction product =
      describe("xab,xbc->axc", {{2, 3, 4}, {-100, 0, 5}}, {{2, 4, 5}, {}}, Layout{{3, 2, 5}, {1, 90, 6}});
  const Contraction found = packed(product);
  const Index x{"x", IndexClass::batch, 2, {4, 20, 15}}, a{"a", IndexClass::external_a, 3, {0, 0, 1}},
      b{"b", IndexClass::contracted, 4, {1, 5, 0}}, c{"c", IndexClass::external_b, 5, {0, 1, 3}};
  EXPECT_EQ(found.indices, (std::vector<Index>{x, a, b, c}));
}

/// Computes as a device does that has room for two slices: packed operands, a packed result, in small parts.
void run_packed(const Slices& slices, RandomContraction& random, double beta, double* c) {
  const int most = random.number(1, 40);
  for (std::int64_t series = 0; series < slices.series(); ++series) {
    std::array<std::vector<double>, 3> memory;
    for (std::int64_t n = 0; n < slices.length(); ++n) {
      const Slice slice = slices.slice(series, n);
      const Contraction form = packed(slice.contraction);
      for (const Tensor t : {A, B, C}) {
        memory[t].resize(static_cast<std::size_t>(elements(slice.contraction, t)));
        EXPECT_EQ(offset_range(form, t).last + 1, std::ssize(memory[t]));
      }
      for (const Tensor t : {A, B}) {
        const PackedTensor tensor(slice.contraction, t, most);
        std::int64_t begin = 0;
        for (std::int64_t part = 0; part < tensor.parts(); ++part) {
          EXPECT_EQ(tensor.begin(part), begin);
          EXPECT_LE(tensor.size(part), most);
          tensor.pack(part, random.first(t) + slice.offset[t], memory[t].data() + begin, 1);
          begin += tensor.size(part);
        }
        EXPECT_EQ(begin, std::ssize(memory[t]));
      }
      contract_by_loops(form, 0.5, memory[A].data(), memory[B].data(), n > 0 ? 1.0 : 0.0, memory[C].data());
    }
    const Slice slice = slices.slice(series, 0);
    const PackedTensor result(slice.contraction, C, most);
    for (std::int64_t part = 0; part < result.parts(); ++part) {
      result.add(part, memory[C].data() + result.begin(part), beta, c + slice.offset[C], 1);
    }
  }
}

TEST(PackedTensor, SlicesThroughBuffersGiveTheResultOfTheLoops) {
  for (std::uint32_t seed = 0; seed < 600 && !::testing::Test::HasFailure(); ++seed) {
    RandomContraction random(seed, 3e3, seed % 2 == 1);
    random.contraction = canonical_form(random.contraction);
    const auto memory = static_cast<std::int64_t>(bytes(random.contraction, false)) / random.number(1, 20);
    const double beta = random.number(0, 1) == 0 ? 0.0 : -0.7;
    std::vector<double> expected = random.memory[C], found = expected;
    contract_by_loops(random.contraction, 0.5, random.first(A), random.first(B), beta, random.first(C, expected));
    run_packed(slices_for_memory(random.contraction, std::max<std::int64_t>(48, memory)), random, beta,
               random.first(C, found));
    constexpr double rounding = 1e-12;
    for (std::size_t n = 0; n < found.size(); ++n) {
      ASSERT_NEAR(found[n], expected[n], rounding) << random.expression << ": element " << n;
    }
  }
}

}
}
