#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/triples/terms.hpp"

/// The schedule of a kernel: the products of a target that it computes, in their order.
///
/// A schedule is a type with a constexpr array `products` of ProductAxes. It is a parameter of Configuration. The host
/// lists the products of a task by their axes, so it need not know the schedule. The work of the kernel between two
/// products follows from the schedule at compile time:
///
///     change from one product to the next    work of the kernel
///     sign of the term                       negates the accumulators (in spin-orbital form)
///     particle that stands alone             renames the accumulators, which costs no instruction
///     hole that stands alone                 exchanges accumulators between lanes, see accumulator_layout.hpp
namespace trifuse::gpu {

/// The two indices that stand alone in the operands of a product, each 0..2 for a, b, c or i, j, k.
struct ProductAxes {
  int particle;  ///< stands alone in A, the left panel (particle, h, h')
  int hole;      ///< stands alone in B, the right panel (p, p', hole)
};

/// Number of products of a target, one for each pair of axes. Arrays of products are [particle, hole].
inline constexpr int products_per_target = 9;
constexpr TRIFUSE_HOST_DEVICE int product_index(int particle, int hole) {
  return particle * 3 + hole;
}
/// Returns the axes of the product with this index, 0..8.
constexpr ProductAxes axes_of_product(int index) {
  return {index / 3, index % 3};
}

/// Number of products in a schedule.
template <typename Schedule>
inline constexpr int product_count = static_cast<int>(Schedule::products.size());

/// Returns product `n` of a schedule.
template <typename Schedule>
constexpr ProductAxes product_axes(int n) {
  return Schedule::products[static_cast<std::size_t>(n)];
}

/// Returns true if a schedule has at least one product, no product twice, and only axes 0..2.
template <typename Schedule>
constexpr bool is_valid_schedule() {
  bool seen[products_per_target] = {};
  for (const ProductAxes& axes : Schedule::products) {
    if (axes.particle < 0 || axes.particle > 2 || axes.hole < 0 || axes.hole > 2) return false;
    bool& product = seen[product_index(axes.particle, axes.hole)];
    if (product) return false;
    product = true;
  }
  return product_count<Schedule> > 0;
}

/// Returns the sign of a product in the spin-orbital target. It is the sign of both doubles terms with these axes.
constexpr int product_sign(const ProductAxes& axes) {
  return -alone_sign(axes.particle, axes.hole);
}

/// Returns true if products n and n + 1 of a schedule have different signs.
template <typename Schedule>
constexpr bool sign_changes_after(int n) {
  return product_sign(product_axes<Schedule>(n)) != product_sign(product_axes<Schedule>(n + 1));
}

/// In spin-orbital form operands have no sign. The accumulators are negated wherever the sign changes. So the
/// accumulated target is `final_sign` times the true target.
template <typename Schedule>
inline constexpr int final_sign = product_sign(product_axes<Schedule>(product_count<Schedule> - 1));

/// Returns one bit for each product of a schedule: 1 if its sign differs from the sign of the last product.
template <typename Schedule>
constexpr std::uint32_t other_signs() {
  std::uint32_t bits = 0;
  for (int n = 0; n < product_count<Schedule>; ++n) {
    if (product_sign(product_axes<Schedule>(n)) != final_sign<Schedule>) bits |= 1u << n;
  }
  return bits;
}

/// Returns how often lanes exchange accumulators in a schedule, i.e. how often the hole changes.
template <typename Schedule>
constexpr int lane_exchanges() {
  int count = 0;
  for (int n = 1; n < product_count<Schedule>; ++n) {
    if (product_axes<Schedule>(n).hole != product_axes<Schedule>(n - 1).hole) ++count;
  }
  return count;
}

/// All axes of a schedule in two words, for products whose number is not known at compile time.
template <typename Schedule>
struct PackedAxes {
  static constexpr int bits = 2;  ///< bits of each axis
  static constexpr std::uint32_t pack(int ProductAxes::*axis) {
    std::uint32_t word = 0;
    for (int n = 0; n < product_count<Schedule>; ++n) {
      word |= static_cast<std::uint32_t>(product_axes<Schedule>(n).*axis) << bits * n;
    }
    return word;
  }
  static constexpr std::uint32_t particles = pack(&ProductAxes::particle), holes = pack(&ProductAxes::hole);
  /// Returns the axes of product `n`.
  static constexpr TRIFUSE_HOST_DEVICE ProductAxes at(int n) {
    return {static_cast<int>(particles >> bits * n & 3u), static_cast<int>(holes >> bits * n & 3u)};
  }
};

/// The schedule of kernels in double precision: all products, with the fewest exchanges that three holes allow, and
/// with few changes of the particle.
struct StandardSchedule {
  static constexpr std::array<ProductAxes, 9> products = {
      {{0, 2}, {1, 2}, {2, 2}, {2, 1}, {1, 1}, {0, 1}, {0, 0}, {1, 0}, {2, 0}}};
};
static_assert(product_count<StandardSchedule> == products_per_target && lane_exchanges<StandardSchedule>() == 2);

/// The schedule of kernels in mixed precision: one round of all particles for each hole.
struct RoundSchedule {
  static constexpr std::array<ProductAxes, 9> products = {
      {{0, 2}, {1, 2}, {2, 2}, {0, 1}, {1, 1}, {2, 1}, {0, 0}, {1, 0}, {2, 0}}};
};
static_assert(product_count<RoundSchedule> == products_per_target && lane_exchanges<RoundSchedule>() == 2);

/// Returns true if a schedule consists of rounds: the particles 0, 1, 2 with the same hole.
template <typename Schedule>
constexpr bool has_rounds() {
  bool rounds = product_count<Schedule> % 3 == 0;
  for (int n = 0; n < product_count<Schedule>; ++n) {
    const ProductAxes axes = product_axes<Schedule>(n);
    rounds = rounds && axes.particle == n % 3 && axes.hole == product_axes<Schedule>(n - n % 3).hole;
  }
  return rounds;
}

}
