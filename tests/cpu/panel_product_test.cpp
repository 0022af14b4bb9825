#include "cxx/cpu/panel_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace trifuse {
namespace {

std::vector<double> numbers_for_products(std::int64_t count) {
  static std::mt19937 engine(7);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  std::vector<double> all(static_cast<std::size_t>(count));
  std::generate(all.begin(), all.end(), [&] { return number(engine); });
  return all;
}

/// The rows [x2,x1,x0,x] of a panel with gaps between them; `reversed`: they stand in the order [x2,x0,x1].
struct RandomPanel {
  RandomPanel(std::array<std::int64_t, 3> extent, std::int64_t contracted, bool reversed) {
    const std::int64_t stride = contracted + 3;
    numbers = numbers_for_products(extent[0] * extent[1] * extent[2] * stride + 1);
    rows = {numbers.data(), extent, {stride, stride * extent[0], stride * extent[0] * extent[1]}};
    if (reversed) rows.stride = {stride * extent[1], stride, stride * extent[0] * extent[1]};
  }
  std::vector<double> numbers;
  ProductRows rows;
};

/// A target with room for the sextet of extents, and its strides: those of c, of the rest of a, and of b mixed.
struct CheckedTarget {
  CheckedTarget(const Six& extent, bool assign, double sign) {
    const std::int64_t row = row_length(extent[0]);
    Six step{1, 0, 0, 0, 0, 0};
    std::int64_t next = row;
    for (const std::size_t q : {3u, 1u, 5u, 2u, 4u}) {
      step[q] = next;
      next *= extent[q];
    }
    expected = numbers = numbers_for_products(next);
    target = {numbers.data(), step, sign, assign};
  }
  std::vector<double> numbers, expected;
  ProductTarget target{};
};

void add_product_by_loops(const ProductRows& a, const ProductRows& b, std::int64_t contracted, CheckedTarget& to) {
  const auto [data, step, sign, assign] = to.target;
  for (std::int64_t x5 = 0; x5 < b.extent[2]; ++x5)
    for (std::int64_t x4 = 0; x4 < b.extent[1]; ++x4)
      for (std::int64_t x3 = 0; x3 < b.extent[0]; ++x3)
        for (std::int64_t x2 = 0; x2 < a.extent[2]; ++x2)
          for (std::int64_t x1 = 0; x1 < a.extent[1]; ++x1)
            for (std::int64_t x0 = 0; x0 < row_length(a.extent[0]); ++x0) {
              double sum = 0.0;
              for (std::int64_t x = 0; x < contracted && x0 < a.extent[0]; ++x) {
                sum += a.data[x0 * a.stride[0] + x1 * a.stride[1] + x2 * a.stride[2] + x] *
                       b.data[x3 * b.stride[0] + x4 * b.stride[1] + x5 * b.stride[2] + x];
              }
              double& element = to.expected[static_cast<std::size_t>(x0 + x1 * step[1] + x2 * step[2] + x3 * step[3] +
                                                                     x4 * step[4] + x5 * step[5])];
              element = (assign ? 0.0 : element) + sign * sum;
            }
}

struct ProductShape {
  std::array<std::int64_t, 3> a, b;
  std::int64_t contracted;
};
const std::vector<ProductShape> product_shapes = {{{1, 1, 1}, {1, 1, 1}, 1},   {{16, 4, 4}, {16, 3, 1}, 115},
                                                  {{15, 2, 3}, {7, 3, 2}, 20}, {{4, 3, 2}, {5, 5, 1}, 7},
                                                  {{12, 2, 1}, {13, 1, 2}, 9}, {{7, 1, 2}, {1, 3, 5}, 3},
                                                  {{33, 2, 1}, {3, 2, 2}, 6},  {{20, 1, 1}, {11, 1, 1}, 500},
                                                  {{10, 2, 2}, {2, 2, 2}, 0},  {{16, 16, 8}, {4, 2, 1}, 130}};

class PanelProductOf : public ::testing::TestWithParam<int> {};

TEST_P(PanelProductOf, IsAddedToTargetsAndWritten) {
  for (const ProductShape& each : product_shapes) {
    for (const bool reversed : {false, true}) {
      PanelProduct product(PanelProduct::scratch_doubles(each.a[1] * each.a[2], each.a[0], each.contracted),
                           GetParam());
      const RandomPanel a(each.a, each.contracted, reversed), b(each.b, each.contracted, false);
      const Six extent{each.a[0], each.a[1], each.a[2], each.b[0], each.b[1], each.b[2]};
      std::vector<CheckedTarget> targets;
      for (const bool assign : {false, true}) targets.emplace_back(extent, assign, assign ? 1.0 : -0.5);
      const std::vector<ProductTarget> both{targets[0].target, targets[1].target};
      product.add(a.rows, b.rows, each.contracted, both);
      for (CheckedTarget& target : targets) {
        add_product_by_loops(a.rows, b.rows, each.contracted, target);
        for (std::size_t n = 0; n < target.numbers.size(); ++n)
          ASSERT_NEAR(target.numbers[n], target.expected[n], 1e-13 * static_cast<double>(each.contracted + 1))
              << n << " of " << each.a[0] << " " << each.b[0] << " " << each.contracted;
      }
    }
  }
}

TEST_P(PanelProductOf, AddsTwiceToOneTarget) {
  const RandomPanel a({9, 2, 2}, 11, false), b({3, 2, 1}, 11, false);
  CheckedTarget target({9, 2, 2, 3, 2, 1}, false, 1.0);
  const std::vector<ProductTarget> twice{target.target, target.target};
  PanelProduct(PanelProduct::scratch_doubles(4, 9, 11), GetParam()).add(a.rows, b.rows, 11, twice);
  for (int n = 0; n < 2; ++n) add_product_by_loops(a.rows, b.rows, 11, target);
  for (std::size_t n = 0; n < target.numbers.size(); ++n) ASSERT_NEAR(target.numbers[n], target.expected[n], 1e-13);
}

TEST_P(PanelProductOf, IsThatOfAMatrixAndRows) {
  for (const ProductShape& each : product_shapes) {
    const std::int64_t rows = each.b[0] * each.b[1], columns = each.contracted,
                       summed = each.a[0] * each.a[1] * each.a[2];
    const RandomPanel p(each.a, columns, true);
    const std::vector<double> s = numbers_for_products(rows * summed + 1);
    PanelProduct product(PanelProduct::scratch_doubles(1, columns, summed), GetParam());
    for (const bool transposed : {false, true}) {
      const MatrixView view =
          transposed ? MatrixView{s.data(), rows, summed, 1, rows} : MatrixView{s.data(), rows, summed, summed, 1};
      std::vector<double> out = numbers_for_products(rows * row_length(columns));
      product.multiply(view, p.rows, columns, out.data());
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t x = 0; x < columns; ++x) {
          double sum = 0.0;
          for (std::int64_t k = 0; k < summed; ++k) {
            const auto [n0, n1] = std::array{each.a[0], each.a[1]};
            sum += view.data[row * view.row_step + k * view.column_step] *
                   p.rows.data[k % n0 * p.rows.stride[0] + k / n0 % n1 * p.rows.stride[1] +
                               k / n0 / n1 * p.rows.stride[2] + x];
          }
          ASSERT_NEAR(out[static_cast<std::size_t>(row * row_length(columns) + x)], sum,
                      1e-13 * static_cast<double>(summed))
              << rows << " " << columns << " " << summed;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, PanelProductOf, ::testing::ValuesIn(PanelProduct::vector_widths()),
                         [](const auto& info) { return std::to_string(info.param) + "Bits"; });

TEST(PanelProduct, HasTheSameBitsWithAllVectorsThatMultiplyAndAdd) {
  const RandomPanel a({16, 2, 2}, 300, false), b({9, 2, 1}, 300, false);
  const CheckedTarget first({16, 2, 2, 9, 2, 1}, false, 1.0);
  for (const int width : PanelProduct::vector_widths()) {
    if (width == 128 || width == PanelProduct::vector_widths().front()) continue;
    CheckedTarget one = first, other = first;
    one.target.data = one.numbers.data();
    other.target.data = other.numbers.data();
    const std::int64_t scratch = PanelProduct::scratch_doubles(4, 16, 300);
    PanelProduct(scratch).add(a.rows, b.rows, 300, {&one.target, 1});
    PanelProduct(scratch, width).add(a.rows, b.rows, 300, {&other.target, 1});
    EXPECT_EQ(one.numbers, other.numbers);
  }
}

}
}
