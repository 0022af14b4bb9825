#pragma once

#include <array>

#include "cxx/cuda/schedule/product_schedule.hpp"

/// Schedules other than those of the program, for tests.
namespace trifuse::gpu {

/// The products of the standard schedule in the reverse order.
struct ReversedSchedule {
  static constexpr std::array<ProductAxes, 9> products = {
      {{2, 0}, {1, 0}, {0, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 2}, {1, 2}, {0, 2}}};
};

/// A schedule with every change of the lone hole, also together with a change of the doubled particle. Signs do not
/// alternate.
struct ShuffledSchedule {
  static constexpr std::array<ProductAxes, 9> products = {
      {{0, 0}, {2, 2}, {1, 0}, {2, 1}, {1, 2}, {1, 1}, {2, 0}, {0, 2}, {0, 1}}};
};

/// The products of one hole, for a target that needs no others.
struct ShortSchedule {
  static constexpr std::array<ProductAxes, 3> products = {{{1, 1}, {2, 1}, {0, 1}}};
};

}
