#include <gtest/gtest.h>

#include <limits>

#include "cxx/base/error.hpp"
#include "cxx/contraction/description.hpp"
#include "cxx/contraction/tccg.hpp"
#include "tests/support/refusals.hpp"

namespace trifuse::contraction {
namespace {

using testing::expect_failure;

std::string names(const Contraction& contraction, IndexClass index_class) {
  std::string all;
  for (const Index& index : contraction.of_class(index_class)) all += (all.empty() ? "" : " ") + index.name;
  return all;
}

TEST(Description, ClassesExtentsAndStrides) {
  const Contraction product = describe(" xaeb, xfe -> xbfa", {{2, 3, 4, 5}, {}}, {{2, 6, 4}, {}});
  EXPECT_EQ(names(product, IndexClass::batch), "x");
  EXPECT_EQ(names(product, IndexClass::external_a), "a b");
  EXPECT_EQ(names(product, IndexClass::external_b), "f");
  EXPECT_EQ(names(product, IndexClass::contracted), "e");
  const Index x{"x", IndexClass::batch, 2, {60, 24, 90}}, e{"e", IndexClass::contracted, 4, {5, 1, 0}};
  EXPECT_EQ(product.indices[0], x);
  EXPECT_EQ(product.indices[2], e);
  EXPECT_EQ(operations(product), 2.0 * 2 * 3 * 4 * 5 * 6);
  EXPECT_EQ(bytes(product, false), 8.0 * (120 + 48 + 180));
  EXPECT_EQ(bytes(product, true), 8.0 * (120 + 48 + 360));
  EXPECT_EQ(bound(product, false, 1e3, 1e12), 1e3);
  EXPECT_EQ(bound(product, false, 1e12, 1e3), operations(product) / bytes(product, false) * 1e3);
}

TEST(Description, StridesOfACaller) {
  const Contraction product = describe("ab,bc->ac", {{2, 3}, {-7, 0}}, {{3, 4}, {1, 3}}, Layout{{2, 4}, {1, -5}});
  EXPECT_EQ(offset_range(product, A).first, -7);
  EXPECT_EQ(offset_range(product, A).last, 0);
  EXPECT_EQ(offset_range(product, C).first, -15);
  EXPECT_EQ(offset_range(product, C).last, 1);
  EXPECT_EQ(elements(product, A), 2.0);  // all b read the same element
  EXPECT_EQ(elements(product, C), 8.0);
}

TEST(Description, CanonicalForm) {
  // a and b follow each other in A and in C, e and f in A and in B; x has one value.
  const Contraction product = describe("xabef,efc->abxc", {{1, 2, 3, 4, 5}, {}}, {{4, 5, 6}, {}});
  const Contraction form = canonical_form(product);
  ASSERT_EQ(form.indices.size(), 3u);
  const Index ab{"ab", IndexClass::external_a, 6, {20, 0, 6}}, c{"c", IndexClass::external_b, 6, {0, 1, 1}},
      ef{"ef", IndexClass::contracted, 20, {1, 6, 0}};
  EXPECT_EQ(form.indices[0], ab);
  EXPECT_EQ(form.indices[1], c);
  EXPECT_EQ(form.indices[2], ef);
  EXPECT_EQ(canonical_form(form), form);
  EXPECT_EQ(operations(form), operations(product));

  // With a gap behind each a there is nothing to fuse.
  const Contraction gaps = canonical_form(describe("ab,bc->ac", {{2, 3}, {4, 1}}, {{3, 4}, {}}));
  EXPECT_EQ(gaps.indices.size(), 3u);
  // Three indices become one, whatever their order in the expression is.
  const Contraction three = canonical_form(describe("acb,->acb", {{2, 3, 4}, {}}, {{}, {}}));
  ASSERT_EQ(three.indices.size(), 1u);
  EXPECT_EQ(three.indices[0].name, "acb");
  EXPECT_EQ(three.indices[0].extent, 24);
  EXPECT_TRUE(canonical_form(describe(",->", {}, {})).indices.empty());
  // All products of the batch x share B, so x and a are the rows of one product.
  const Contraction shared = canonical_form(describe("xab,xbc->xac", {{7, 2, 3}, {}}, {{7, 3, 4}, {0, 4, 1}}));
  ASSERT_EQ(shared.indices.size(), 3u);
  EXPECT_EQ(shared.indices[0], (Index{"xa", IndexClass::external_a, 14, {3, 0, 4}}));
}

TEST(Description, EmptyTensors) {
  EXPECT_TRUE(describe("ab,bc->ac", {{0, 3}, {}}, {{3, 4}, {}}).empty_result());
  const Contraction no_terms = describe("ab,bc->ac", {{2, 0}, {}}, {{0, 4}, {}});
  EXPECT_FALSE(no_terms.empty_result());
  EXPECT_TRUE(no_terms.empty_sum());
  EXPECT_EQ(operations(no_terms), 0.0);
  EXPECT_EQ(canonical_form(no_terms).indices.size(), 3u);
}

TEST(Description, RefusesExpressions) {
  const Layout matrix{{2, 2}, {}};
  const auto refuse = [&](const char* expression, const char* part) {
    expect_failure<UsageError>([&] { describe(expression, matrix, matrix); }, part);
  };
  refuse("ab,bc", "\"ab,bc\" has no \"->\"");
  refuse("ab->ab", "exactly two operands");
  refuse("ab,bc,cd->ad", "exactly two operands");
  refuse("ab,b1->a1", "the character \"1\"");
  refuse("ab,bc->a\n", "the character \"\\n\"");
  refuse("ab,b...->a", "the character \".\"");
  refuse("ab,bc->ac->ac", "exactly two operands and one result");
  refuse("aa,ac->ac", "Index a occurs twice in A");
  refuse("ab,bc->acc", "Index c occurs twice in C");
  refuse("ab,bc->a", "Index c occurs only in B");
  refuse("ab,bc->ad", "Index c occurs only in B");
  refuse("ab,bc->acd", "Index d of the result occurs neither in A nor in B");
  refuse("abcdefg,ghijklm->abcdefhijklm", "has 13 indices, of which m is one too many");
  refuse("abc,bc->a", "A has 2 axes, but the contraction names 3 indices of A: \"abc\"");
}

TEST(Description, RefusesLayouts) {
  const auto refuse = [](const Layout& a, const Layout& b, const std::optional<Layout>& c, const char* part) {
    expect_failure<UsageError>([&] { describe("ab,bc->ac", a, b, c); }, part);
  };
  const Layout two{{2, 2}, {}};
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  refuse({{2, 3}, {}}, two, {}, "Index b has the extent 3 in A, but 2 in B");
  refuse(two, {{2, 3}, {}}, Layout{{2, 2}, {}}, "Index c has the extent 3 in B, but 2 in C");
  refuse({{2, -1}, {}}, two, {}, "Index b has the extent -1 in A");
  refuse({{2, 2}, {1}}, two, {}, "A has 2 axes, but 1 strides");
  refuse({{2, 2}, {most / 8, 1}}, two, {}, "Index a of A");
  refuse({{2, 2}, {std::numeric_limits<std::int64_t>::min(), 1}}, two, {}, "Index a of A");
  refuse({{most / 2, 2}, {}}, two, {}, "beyond the range of addresses");
  refuse(two, two, Layout{{2, 2}, {1, 1}}, "index");
  refuse(two, two, Layout{{2, 2}, {0, 1}}, "Elements of the result may share memory, because index a has the stride 0");
  refuse({{3, 2}, {}}, {{2, 5}, {}}, Layout{{3, 5}, {4, 1}}, "index a has the stride 4 and the other indices span 5");
  // An extent of 1 needs no stride.
  EXPECT_NO_THROW(describe("ab,bc->ac", {{1, 2}, {}}, two, Layout{{1, 2}, {0, 1}}));
}

TEST(Tccg, All48) {
  // Operations for each byte that moves, as in publications.
  const auto expect_intensity = [](const TccgContraction& entry, double intensity) {
    const auto between = [&](double least, double most) {
      EXPECT_TRUE(intensity > least && intensity < most) << entry.number << ": " << intensity;
    };
    if (entry.group == TccgGroup::tensor_times_matrix) return between(3.4, 5.7);
    if (entry.group == TccgGroup::ao_to_mo) return between(8.9, 9.1);
    if (entry.group == TccgGroup::triples_products) return between(5.8, 6.1);
    if (entry.number == 19) return between(17.0, 18.0);
    return entry.number >= 13 && entry.number <= 18 ? between(37.0, 40.0) : between(426.0, 435.0);
  };
  for (const TccgContraction& entry : tccg_contractions()) {
    const TccgLayouts layouts = layouts_of(entry);
    const Contraction whole = describe(entry.expression, layouts[A], layouts[B], layouts[C]);
    expect_intensity(entry, operations(whole) / bytes(whole, false));
    const TccgLayouts tenth = layouts_of(entry, 0.1);
    const Contraction part = describe(entry.expression, tenth[A], tenth[B], tenth[C]);
    const double share = std::max({elements(part, A), elements(part, B), elements(part, C)}) /
                         std::max({elements(whole, A), elements(whole, B), elements(whole, C)});
    EXPECT_GT(share, 0.05) << entry.number;
    EXPECT_LT(share, 0.2) << entry.number;
  }
  EXPECT_EQ(tccg_contractions().size(), 48u);
  const TccgContraction& worst = tccg_contractions()[30];
  EXPECT_EQ(worst.number, 31);
  EXPECT_STREQ(worst.expression, "aged,cbfg->fedcba");
  EXPECT_EQ(name_of(worst.group), "CCSD(T)");
}

}
}
