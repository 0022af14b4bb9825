#include "cxx/operands/made_panels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/operands/factor_adjoint.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_store.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/problems.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The panels that are made: all of them. `stored`: the layout of stored integrals.
std::vector<PanelKey> made_panels(const PanelLayout& stored) {
  std::vector<PanelKey> keys;
  stored.visit([&](const PanelKey& key, const PanelExtent&) { keys.push_back(key); });
  return keys;
}

/// The first number of a panel in memory.
const double* first_number(const PanelStore& store, const PanelKey& key, const Panel& panel) {
  return panel.data - (key.kind == PanelKind::vvoo ? 0 : store.layout().rows(key).begin);
}

/// All numbers of a panel, with the zeros behind its rows and behind the panel.
std::vector<double> numbers_of(const PanelStore& store, const PanelKey& key) {
  const Panel panel = store.acquire(key);
  const double* const first = first_number(store, key, panel);
  return {first, first + store.layout().whole_doubles(key) + (store.layout().has_factors() ? vector_margin : 0)};
}

TEST(MadePanels, AreThoseOfStoredIntegrals) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelStore stored(problem.of_integrals, tiles), store(problem.of_factors, tiles);
    PanelStore without_room(problem.of_factors, tiles);
    without_room.limit_made_panels(0);
    const std::vector<PanelKey> keys = made_panels(stored.layout());
    for (const PanelKey& key : keys) {
      EXPECT_TRUE(store.layout().makes(key));
      EXPECT_FALSE(stored.layout().makes(key));
      const std::vector<double> expected = numbers_of(stored, key), found = numbers_of(store, key);
      EXPECT_EQ(store.acquire(key).stride, stored.acquire(key).stride);
      ASSERT_EQ(found.size(), expected.size() + vector_margin);
      EXPECT_TRUE(std::all_of(found.end() - vector_margin, found.end(), [](double x) { return x == 0.0; }));
      for (std::size_t n = 0; n < expected.size(); ++n) ASSERT_NEAR(found[n], expected[n], 1e-15) << n;
      EXPECT_EQ(numbers_of(without_room, key), found);
    }
    // Each panel was acquired twice of `store` and once of `without_room`.
    EXPECT_EQ(store.made_panels().filled, std::ssize(keys));
    EXPECT_EQ(store.made_panels().hits, std::ssize(keys));
    EXPECT_EQ(without_room.made_panels().filled, std::ssize(keys));
    EXPECT_EQ(numbers_of(without_room, keys.front()), numbers_of(store, keys.front()));
    EXPECT_EQ(without_room.made_panels().filled, std::ssize(keys) + 1);
    EXPECT_LE(store.layout().doubles(), PanelLayout::required_doubles(problem.of_factors, tiles));
    EXPECT_EQ(stored.made_panels().wanted, 0);
  });
}

/// The products of a number with each panel are homogeneous functions of the factors, of the second degree.
TEST(MadePanels, HaveDerivativesByTheirSlabs) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelStore store(problem.of_factors, tiles);
    const PanelLayout layout = PanelLayout::of_whole_panels(problem.of_factors, tiles);
    std::mt19937 random(1);
    ZeroedVector<std::int64_t> sums(static_cast<std::size_t>(layout.doubles()));
    for (std::int64_t& sum : sums) sum = std::uniform_int_distribution<std::int64_t>(-1000, 1000)(random);
    double of_panels = 0.0, magnitude = 0.0;
    layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
      if (!made_from_factors(problem.of_factors.sets(), key)) return;
      const Panel panel = store.acquire(key);
      const double* const values = first_number(store, key, panel);
      const PanelFactorRows rows = factor_rows(tiles, layout.formulation(), key);
      const PanelRows in_panel = key.kind == PanelKind::vvoo ? PanelRows{rows.length, 0, 0, 0} : layout.rows(key);
      for (std::int64_t row = 0; row < rows.count(); ++row) {
        for (std::int64_t n = 0; n < rows.length; ++n) {
          const std::int64_t at = row * in_panel.stride + in_panel.made_part(key.kind) + n;
          const double product = static_cast<double>(sums[static_cast<std::size_t>(extent.begin + at)]) * values[at];
          of_panels += product;
          magnitude += std::abs(product);
        }
      }
    });
    double of_slabs = 0.0;
    add_to_slabs(problem.of_factors, layout, HostSums(std::move(sums)), 1,
                 [&](const PanelKey& slab, std::span<const double> derivatives) {
                   const Panel factors = store.acquire_stored(slab);
                   of_slabs += std::inner_product(derivatives.begin(), derivatives.end(), factors.data, 0.0);
                 });
    EXPECT_NEAR(of_slabs, 2.0 * of_panels, 1e-12 * magnitude);
    EXPECT_GT(magnitude, 0.0);
  });
}

TEST(MadePanels, OfAMissingPanelAreEmpty) {
  const FactoredProblem problem(open_shell(Reference::uhf, {4, 3, 5, 6}), SpinFormulation::spin_orbital);
  const PanelStore store(problem.of_factors, problem.with_factors.tiles());
  const TileSpace& space = store.tiles();
  const int alpha = space.first(OrbitalClass::particle_alpha), beta = space.first(OrbitalClass::particle_beta);
  // No spin of d conserves spin.
  EXPECT_EQ(store.acquire(PanelKey::right({alpha, alpha, space.first(OrbitalClass::hole_beta)}, Side::right)).data,
            nullptr);
  EXPECT_NE(store.acquire(PanelKey::right({alpha, beta, 0}, Side::right)).data, nullptr);
  EXPECT_EQ(store.made_panels().wanted, 1);
}

class MadePanelsWithin : public ::testing::TestWithParam<std::int64_t> {};

// Threads acquire panels in different orders and keep several of them.
TEST_P(MadePanelsWithin, AreRightForAllThreads) {
  const FactoredProblem problem(closed_shell(6, 11), SpinFormulation::spin_adapted, true);
  const TileSpace tiles = problem.with_factors.tiles().retiled(2, 3);
  PanelStore store(problem.of_factors, tiles);
  const std::vector<PanelKey> keys = made_panels(PanelLayout(problem.of_integrals, tiles));
  std::vector<std::vector<double>> expected;
  for (const PanelKey& key : keys) expected.push_back(numbers_of(store, key));
  store.limit_made_panels(GetParam());
  constexpr std::size_t threads = 4, rounds = 200;
  std::vector<int> wrong(threads);
  on_new_threads(threads, [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t n = random() % keys.size(), m = random() % keys.size();
      const Panel one = store.acquire(keys[n]), other = store.acquire(keys[m]);
      for (const auto& [panel, number] : {std::pair(&one, n), std::pair(&other, m)}) {
        const double* const first = first_number(store, keys[number], *panel);
        if (!std::equal(expected[number].begin(), expected[number].end(), first)) ++wrong[thread];
      }
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(threads));
  std::int64_t longest = 0;
  for (const PanelKey& key : keys) longest = std::max(longest, store.layout().whole_doubles(key));
  // Panels in use may exceed the limit. A buffer may be twice as long as its panel.
  const auto in_use = static_cast<std::int64_t>(2 * threads * 2 * sizeof(double)) * (longest + vector_margin);
  EXPECT_LE(store.made_panels().max_bytes, GetParam() + in_use);
  EXPECT_EQ(store.made_panels().wanted, static_cast<std::int64_t>(2 * threads * rounds));
}

INSTANTIATE_TEST_SUITE_P(Budget, MadePanelsWithin, ::testing::Values(0, 20000, std::int64_t{1} << 30));

TEST(MadePanels, GiveTheEnergiesOfStoredIntegrals) {
  constexpr CpuTiles limits{2, 3};
  for_each_factored_problem([&](FactoredProblem& problem, const TileSpace& tiles) {
    problem.of_factors.quotients = problem.of_integrals.quotients = {0.0, 0.1};
    const Plan plan = make_plan(tiles, problem.of_factors.formulation);
    if (plan.tasks.empty()) return;
    const auto numbers = [&](const Problem& of, std::int64_t made_bytes, bool large_panels) {
      const auto executor = prepare_cpu_executor(of, plan.tiles, limits);
      auto panels = std::make_shared<PanelStore>(of, large_panels ? plan.tiles : executor->panel_tiles());
      panels->limit_made_panels(made_bytes);
      executor->take_panels(std::move(panels));
      return task_numbers(*executor, plan, 2);
    };
    const std::vector<double> expected = numbers(problem.of_integrals, 0, false);
    const std::vector<double> found = numbers(problem.of_factors, std::int64_t{1} << 30, false);
    EXPECT_LT(relative_difference(found, expected), 1e-12);
    EXPECT_EQ(numbers(problem.of_factors, 0, false), found);
    EXPECT_LT(relative_difference(numbers(problem.of_factors, 0, true), expected), 1e-12);
  });
}

}
}
