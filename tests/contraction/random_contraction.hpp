#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/reference.hpp"

namespace trifuse::contraction {

/// A number of C that nobody may read.
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Returns the terms of the sum.
inline double terms_of(const Contraction& contraction) {
  double terms = 1.0;
  for (const Index& index : contraction.of_class(IndexClass::contracted)) terms *= static_cast<double>(index.extent);
  return terms;
}

/// Expects that two memories of C agree: the elements of C up to rounding, the gaps in all bits. `terms`: of the sum.
inline void expect_equal(const std::vector<double>& found, const std::vector<double>& expected, double terms) {
  constexpr double rounding = 1e-15;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const bool equal = std::abs(found[n] - expected[n]) <= rounding * (terms + 10.0) ||
                       (std::isnan(found[n]) && std::isnan(expected[n]));
    ASSERT_TRUE(equal) << "element " << n << " of " << found.size() << " is " << found[n] << ", not " << expected[n];
  }
}

/// Layouts and numbers of a contraction of random indices.
class RandomContraction {
 public:
  /// `seed`: different seeds give different contractions. `most_products`: limit of the number of multiplications.
  /// `gaps`: true if the strides have gaps and any sign.
  RandomContraction(std::uint32_t seed, double most_products, bool gaps) : random_(seed) {
    const int count = number(0, 8);
    double products = 1.0;
    std::array<std::string, 3> letters;
    std::vector<std::int64_t> extents;
    for (int n = 0; n < count; ++n) {
      constexpr double largest = 40.0;
      const double most = std::clamp(most_products / products, 1.0, largest);
      extents.push_back(number(1, static_cast<int>(most)));
      products *= static_cast<double>(extents.back());
      const int missing = number(0, 6);  // from 3 on: in all tensors, or in A and B
      for (const Tensor t : {A, B, C}) {
        const bool absent = missing == static_cast<int>(t) || (missing > 4 && t == C);
        if (!absent) letters[t] += static_cast<char>('a' + n);
      }
    }
    for (const Tensor t : {A, B, C}) {
      std::shuffle(letters[t].begin(), letters[t].end(), random_);
      for (const char letter : letters[t]) layout[t].extents.push_back(extents[static_cast<std::size_t>(letter - 'a')]);
      if (gaps) add_strides(layout[t], t != C);
    }
    expression = letters[A] + "," + letters[B] + "->" + letters[C];
    contraction = describe(expression, layout[A], layout[B], layout[C]);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (const Tensor t : {A, B, C}) {
      const OffsetRange range = offset_range(contraction, t);
      memory[t].resize(static_cast<std::size_t>(range.last - range.first + 1));
      std::generate(memory[t].begin(), memory[t].end(), [&] { return uniform(random_); });
    }
  }

  /// The element of a tensor at offset 0.
  double* first(Tensor tensor) { return first(tensor, memory[tensor]); }
  double* first(Tensor tensor, std::vector<double>& of) const {
    return of.data() - offset_range(contraction, tensor).first;
  }

  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  std::string expression;
  std::array<Layout, 3> layout;
  Contraction contraction;
  std::array<std::vector<double>, 3> memory;

 private:
  /// Strides in a random order of the axes, with gaps; an axis of an input may have the stride 0.
  void add_strides(Layout& of, bool input) {
    std::vector<std::size_t> order(of.extents.size());
    for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
    std::shuffle(order.begin(), order.end(), random_);
    of.strides.resize(order.size());
    std::int64_t step = number(0, 3) == 0 ? 2 : 1;
    for (const std::size_t axis : order) {
      const int kind = number(0, 9);
      of.strides[axis] = kind == 0 ? -step : kind == 1 && input ? 0 : step;
      if (of.strides[axis] != 0) step *= of.extents[axis];
      if (kind == 2) step += number(1, 3);
    }
  }

  std::mt19937 random_;
};

/// A random contraction with random factors, and its result by the loops.
class ExpectedContraction : public RandomContraction {
 public:
  /// The parameters are those of RandomContraction.
  ExpectedContraction(std::uint32_t seed, double most_products, bool gaps)
      : RandomContraction(seed, most_products, gaps) {
    alpha = std::array{1.0, -0.5, 0.0}[static_cast<std::size_t>(number(0, 11) / 5)];
    beta = std::array{0.0, 1.0, 0.7}[static_cast<std::size_t>(number(0, 2))];
    if (beta == 0.0) std::fill(memory[C].begin(), memory[C].end(), nan);
    expected = memory[C];
    contract_by_loops(contraction, alpha, first(A), first(B), beta, first(C, expected));
  }

  double alpha, beta;
  std::vector<double> expected;  ///< memory of C
};

}
