#include "cxx/operands/derivative_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// `most`: the largest sum that is allowed.
void expect_below(double largest, double most, double unit) {
  if (largest <= most) return;
  throw InputError(
      fmt::format("Derivatives of E(T) reach {:.2g}, and sums of derivatives hold up to {:.0f} hartree per unit of an "
                  "array, so no derivatives are returned. In molecules they are below 1; look for an array that is not "
                  "that of a molecule, or has another unit.",
                  unit * largest, unit * most));
}

template <typename T>
void expect_operands_in_range(std::span<const T> sums) {
  double largest = 0.0;
  for (const T sum : sums) largest = std::max(largest, std::abs(static_cast<double>(sum)));
  expect_below(largest, 0x1p61, unit_of_operands);
}

}

void expect_in_range(std::span<const double> by_operands) {
  expect_operands_in_range(by_operands);
}

void expect_in_range(std::span<const std::int64_t> by_operands) {
  expect_operands_in_range(by_operands);
}

void expect_in_range(std::int64_t by_omega2) {
  expect_below(std::abs(static_cast<double>(by_omega2)), 0x1p62, unit_of_energies);
}

}
