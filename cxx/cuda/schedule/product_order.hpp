#pragma once

#include <array>

#include "cxx/triples/terms.hpp"

/// The order in which a kernel computes the nine products of a target.
///
/// The accumulators stay in registers from the first product to the last. If only the particle changes from one product
/// to the next, the accumulators are renamed at compile time. If the hole changes, lanes exchange accumulators, so the
/// hole changes only twice.
namespace trifuse::gpu {

/// The two indices that stand alone in the operands of a product, each 0..2 for a, b, c or i, j, k.
struct ProductAxes {
  int particle;  ///< in A: left panel (particle, h, h')
  int hole;      ///< in B: right panel (p, p', hole)
};

inline constexpr int products_per_target = 9;
inline constexpr std::array<ProductAxes, products_per_target> product_order = {
    {{0, 2}, {1, 2}, {2, 2}, {2, 1}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {2, 0}}};

/// The number of a product in `product_order`; -1 if there is none.
constexpr int product_number(int particle, int hole) {
  for (int n = 0; n < products_per_target; ++n) {
    if (product_order[static_cast<std::size_t>(n)].particle == particle &&
        product_order[static_cast<std::size_t>(n)].hole == hole) {
      return n;
    }
  }
  return -1;
}

/// In spin-orbital form the signs of the terms alternate along this order. So the accumulators are negated between
/// products, and no operand carries a sign. The accumulated target is `final_sign` times the true one.
static_assert(
    [] {
      for (const Term& term : terms) {
        if (term.kind == TermKind::singles) continue;
        if (term.sign != (product_number(term.particle, term.hole) % 2 == 0 ? -1 : +1)) return false;
      }
      return true;
    }(),
    "the signs of the terms must alternate");
inline constexpr double final_sign = -1.0;

}  // namespace trifuse::gpu
