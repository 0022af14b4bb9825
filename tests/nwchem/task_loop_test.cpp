#include "tests/nwchem/task_loop.hpp"

#include <gtest/gtest.h>

#include "tests/support/expected_energies.hpp"

namespace trifuse::testing {
namespace {

class EnergyThroughNwchemsSymbols : public ::testing::TestWithParam<std::string> {};

TEST_P(EnergyThroughNwchemsSymbols, IsThePrintedOne) {
  const auto source = open_dump_of(GetParam());
  const ExpectedEnergies expected = expected_energies(GetParam());
  const std::array<double, 2> found = TaskLoop(*source).energies();
  EXPECT_EQ(take_failure(), "");
  EXPECT_NEAR(found[0], expected.plain.e_bracket_t, 1e-10);
  EXPECT_NEAR(found[1], expected.plain.e_paren_t, 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Every, EnergyThroughNwchemsSymbols, ::testing::ValuesIn(good_dumps()),
                         [](const auto& test) { return test.param; });

}
}
