#include "cxx/cuda/schedule/element_arrangement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "cxx/cuda/schedule/split_half_units.hpp"

/// Where the warps of a group hold the elements of a target, and how they move them between two products.
namespace trifuse::gpu {
namespace {

constexpr int registers = 1 << register_bits, lanes = 32;

/// Indices of an element in its warp tile: a 0..3, b 0..7, holes 0..3; c is the number of the warp.
using Element = std::array<int, 6>;  // [a, b, c, i, j, k]

int index_of(const Element& e, IndexBit bit) {
  return bit < 6   ? e[static_cast<std::size_t>(3 + bit / 2)] >> bit % 2 & 1
         : bit < 8 ? e[0] >> (bit - 6) & 1
                   : e[1] >> (bit - 8) & 1;
}
Element element_at(const Arrangement& arrangement, int warp, int lane, int reg) {
  Element e{0, 0, warp, 0, 0, 0};
  const auto set = [&](IndexBit bit, int value) {
    if (bit < 6) {
      e[static_cast<std::size_t>(3 + bit / 2)] |= value << bit % 2;
    } else {
      e[bit < 8 ? 0 : 1] |= value << (bit < 8 ? bit - 6 : bit - 8);
    }
  };
  for (int b = 0; b < lane_bits; ++b) set(arrangement.of_lane(b), lane >> b & 1);
  for (int b = 0; b < register_bits; ++b) set(arrangement.of_register(b), reg >> b & 1);
  return e;
}

/// The element that the instructions of a product put there, by the lines of the units that they multiply.
Element multiplied_element(const ProductAxes& axes, int warp, int lane, int reg) {
  const int r = lane / 4, q = lane % 4, e = reg % 4, n = reg / 4;
  const int x = axes.particle, y = axes.hole;
  // Two instructions for particle a, with 64 other lines each; one with 128 other lines for b and c.
  const int instruction = x == 0 ? n / 8 : 0, other = (x == 0 ? n % 8 : n) * 8 + 2 * q + e % 2;
  const int line = warp * 16 + r + 8 * (e / 2);
  Element element{};
  const auto set_a_line = [&](int unit, int of_line) {
    element[static_cast<std::size_t>(x)] = unit * SplitHalfUnits::a_particles + of_line / SplitHalfUnits::rows;
    element[static_cast<std::size_t>(3 + first_other(y))] = of_line % SplitHalfUnits::rows / hole_group_size;
    element[static_cast<std::size_t>(3 + second_other(y))] = of_line % hole_group_size;
  };
  const auto set_b_line = [&](int unit_first, int unit_second, int of_line) {
    const UnitLine of_b = SplitHalfUnits::b_line(of_line);
    element[static_cast<std::size_t>(first_other(x))] = unit_first * SplitHalfUnits::b_first + of_b.first;
    element[static_cast<std::size_t>(second_other(x))] = unit_second * SplitHalfUnits::b_second + of_b.second;
    element[static_cast<std::size_t>(3 + y)] = of_b.hole;
  };
  constexpr int lines = SplitHalfUnits::lines;
  if (x == 0) {
    set_b_line(instruction, 0, line);
    set_a_line(0, other);
  } else if (x == 1) {
    set_b_line(0, 0, line);
    set_a_line(other / lines, other % lines);
  } else {
    set_a_line(0, line);
    set_b_line(0, other / lines, other % lines);
  }
  return element;
}

TEST(ElementArrangement, IsThatOfTheInstructions) {
  for (int product = 0; product < products_per_target; ++product) {
    const ProductAxes axes = axes_of_product(product);
    std::set<Element> all;
    for (int warp = 0; warp < 4; ++warp) {
      for (int lane = 0; lane < lanes; ++lane) {
        for (int reg = 0; reg < registers; ++reg) {
          const Element found = element_at(arrangement(axes), warp, lane, reg);
          ASSERT_EQ(found, multiplied_element(axes, warp, lane, reg))
              << "product " << product << ", lane " << lane << ", register " << reg;
          all.insert(found);
        }
      }
    }
    EXPECT_EQ(all.size(), 4u * lanes * registers);
  }
}

TEST(ElementArrangement, HasTheRegistersOfTheEpilogueIfCIsAlone) {
  for (int y = 0; y < 3; ++y) {
    for (int lane = 0; lane < lanes; ++lane) {
      for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 8; ++b) {
          for (int half = 0; half < 2; ++half) {
            Element expected{a, b, 0, 0, 0, 0};
            for (int q = 0; q < 3; ++q) {
              expected[static_cast<std::size_t>(3 + q)] =
                  hole_of_lane(y, q, lane) + (q == halved_hole(y) ? 2 * half : 0);
            }
            EXPECT_EQ(element_at(arrangement({2, y}), 0, lane, register_of_particles(a, b, half)), expected);
          }
        }
      }
    }
  }
}

/// Lets a warp change the arrangement of its registers as kernel/accumulators.cuh does if pairs are exchanged.
std::vector<std::array<int, registers>> with_exchanged_pairs(const ArrangementChange& change,
                                                             const std::vector<std::array<int, registers>>& before) {
  std::vector<std::array<int, registers>> after(lanes);
  for (int group = 0; group < registers / 2; ++group) {
    const auto number = [&](int lane, int t) {
      return before[static_cast<std::size_t>(lane)][static_cast<std::size_t>(change.source_register(group, t))];
    };
    for (int lane = 0; lane < lanes; ++lane) {
      const int given = change.given(lane), source = change.source_lane(lane, 1);
      auto& stored = after[static_cast<std::size_t>(lane)];
      stored[static_cast<std::size_t>(change.target_register(group, given))] = number(lane, given);
      stored[static_cast<std::size_t>(change.target_register(group, 1 - given))] =
          number(source, 1 - change.given(source));
    }
  }
  return after;
}

/// The same for all changes.
std::vector<std::array<int, registers>> changed(const ArrangementChange& change,
                                                const std::vector<std::array<int, registers>>& before) {
  std::vector<std::array<int, registers>> after(lanes);
  const int rounds = 1 << change.moved_bits();
  for (int group = 0; group < registers / rounds; ++group) {
    for (int t = 0; t < rounds; ++t) {
      std::array<int, lanes> given{};
      for (int lane = 0; lane < lanes; ++lane) {
        given[static_cast<std::size_t>(lane)] =
            before[static_cast<std::size_t>(lane)]
                  [static_cast<std::size_t>(change.source_register(group, change.given(lane) ^ t))];
      }
      for (int lane = 0; lane < lanes; ++lane) {
        after[static_cast<std::size_t>(lane)]
             [static_cast<std::size_t>(change.target_register(group, change.stored(lane) ^ t))] =
                 given[static_cast<std::size_t>(change.source_lane(lane, t))];
      }
    }
  }
  return after;
}

/// The linear map with these columns.
int value_of(const std::array<unsigned, lane_bits>& columns, int lane) {
  unsigned value = 0;
  for (int b = 0; b < lane_bits; ++b) {
    if ((lane >> b & 1) != 0) value ^= columns[static_cast<std::size_t>(b)];
  }
  return static_cast<int>(value);
}

TEST(ArrangementChange, IsLinearInTheLane) {
  for (int first = 0; first < products_per_target; ++first) {
    for (int second = 0; second < products_per_target; ++second) {
      const ArrangementChange change{arrangement(axes_of_product(first)), arrangement(axes_of_product(second))};
      for (int lane = 0; lane < lanes; ++lane) {
        EXPECT_EQ(value_of(change.given_columns(), lane), change.given(lane));
        EXPECT_EQ(value_of(change.stored_columns(), lane), change.stored(lane));
        for (int t = 0; t < 1 << change.moved_bits(); ++t) {
          EXPECT_EQ(value_of(change.source_columns(), lane) ^ change.source_lane(0, t), change.source_lane(lane, t))
              << "from product " << first << " to " << second << ", lane " << lane << ", round " << t;
        }
      }
    }
  }
}

TEST(ArrangementChange, MovesEveryElementToItsPlace) {
  int pairs = 0;
  for (int first = 0; first < products_per_target; ++first) {
    for (int second = 0; second < products_per_target; ++second) {
      const ArrangementChange change{arrangement(axes_of_product(first)), arrangement(axes_of_product(second))};
      ASSERT_LE(change.moved_bits(), 3);
      std::vector<std::array<int, registers>> before(lanes);
      const auto number = [](const Element& e) {
        int value = 0;
        for (int bit = 0; bit < index_bits; ++bit) value |= index_of(e, bit) << bit;
        return value;
      };
      for (int lane = 0; lane < lanes; ++lane) {
        for (int reg = 0; reg < registers; ++reg) {
          before[static_cast<std::size_t>(lane)][static_cast<std::size_t>(reg)] =
              number(element_at(change.from, 0, lane, reg));
        }
      }
      const auto after = changed(change, before);
      for (int lane = 0; lane < lanes; ++lane) {
        for (int reg = 0; reg < registers; ++reg) {
          ASSERT_EQ(after[static_cast<std::size_t>(lane)][static_cast<std::size_t>(reg)],
                    number(element_at(change.to, 0, lane, reg)))
              << "from product " << first << " to " << second << ", lane " << lane << ", register " << reg;
        }
      }
      if (change.exchanges_pairs()) {
        ++pairs;
        EXPECT_EQ(with_exchanged_pairs(change, before), after);
      }
    }
  }
  EXPECT_GE(pairs, 6) << "between a and b alone half of the elements stay in their registers";
}

}
}
