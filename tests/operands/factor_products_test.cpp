#include "cxx/operands/factor_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "cxx/operands/panel_store.hpp"
#include "cxx/plan/plan.hpp"
#include "tests/support/factored_source.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

/// The rows of a panel that are made from factors, multiplied out element by element.
class MultipliedRows {
 public:
  MultipliedRows(const PanelStore& store, const PanelKey& key)
      : auxiliary_(store.layout().auxiliary()), rows_(factor_rows(store.tiles(), store.layout().formulation(), key)) {
    for (const FactorProduct& product : factor_products(store.tiles(), store.layout().formulation(), key)) {
      products_.push_back(product);
      first_.push_back(store.acquire(product.first));
      second_.push_back(store.acquire(product.second));
    }
  }

  const PanelFactorRows& rows() const { return rows_; }
  std::size_t products() const { return products_.size(); }
  /// Element `n` of row `row`.
  double element(std::int64_t row, std::int64_t n) const {
    const auto& extent = rows_.extent;
    const std::array<std::int64_t, 3> at = {row / (extent[1] * extent[2]), row / extent[2] % extent[1],
                                            row % extent[2]};
    double sum = 0.0;
    for (std::size_t m = 0; m < products_.size(); ++m) {
      const FactorProduct& product = products_[m];
      const bool transposed = product.transposed();
      const double* const first = first_[m].data + (at[product.x] * extent[product.y] + at[product.y]) * auxiliary_;
      const double* const second =
          second_[m].data + at[product.z] * auxiliary_ * rows_.length + (transposed ? n * auxiliary_ : n);
      const std::int64_t step = transposed ? 1 : rows_.length;
      for (std::int64_t q = 0; q < auxiliary_; ++q) sum += product.sign * first[q] * second[q * step];
    }
    return sum;
  }

 private:
  std::int64_t auxiliary_;
  PanelFactorRows rows_;
  std::vector<FactorProduct> products_;
  std::vector<Panel> first_, second_;
};

TEST(FactorProducts, AreTheIntegralsOfLeftAndRightPanels) {
  std::set<std::size_t> numbers_of_left, numbers_of_right;
  for_each_factored_problem([&](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelStore stored(problem.of_integrals, tiles), store(problem.of_factors, tiles);
    EXPECT_EQ(store.layout().auxiliary(), problem.with_factors.auxiliary());
    ASSERT_FALSE(stored.layout().has_factors());
    double largest_left = 0.0, largest_right = 0.0;
    stored.layout().visit([&](const PanelKey& key, const PanelExtent&) {
      const bool left = key.kind == PanelKind::left;
      if (!left && key.kind != PanelKind::right) return;
      const Panel whole = stored.acquire(key);
      const PanelRows rows = stored.layout().rows(key);
      EXPECT_EQ(store.layout().rows(key).stride, rows.stride);
      EXPECT_EQ(store.layout().whole_doubles(key), stored.layout().find(key)->doubles);
      const auto [particles, holes] = store.layout().contracted(key);
      const std::int64_t integrals = left ? holes : particles, amplitudes = left ? particles : holes;
      const MultipliedRows made(store, key);
      EXPECT_EQ(made.rows().length, integrals);
      (left ? numbers_of_left : numbers_of_right).insert(made.products());
      double& largest = left ? largest_left : largest_right;
      const Panel of_amplitudes = store.acquire_stored(key);
      EXPECT_EQ(of_amplitudes.data == nullptr, amplitudes == 0);
      for (std::int64_t n = 0; n < made.rows().count(); ++n) {
        const double* const expected = whole.data - rows.begin + n * whole.stride;
        for (std::int64_t x = 0; x < integrals; ++x) {
          const double found = made.element(n, x);
          ASSERT_NEAR(found, expected[rows.made_part(key.kind) + x], 1e-15) << n << " " << x;
          largest = std::max(largest, std::abs(found));
        }
        for (std::int64_t x = 0; x < amplitudes; ++x) {
          ASSERT_EQ(of_amplitudes.data[n * of_amplitudes.stride + x], expected[rows.amplitude_part(key.kind) + x])
              << n << " " << x;
        }
      }
    });
    EXPECT_GT(largest_left, 1e-4);
    EXPECT_GT(largest_right, 1e-4);
  });
  EXPECT_EQ(numbers_of_left, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(numbers_of_right, (std::set<std::size_t>{0, 1, 2}));
}

TEST(FactorProducts, AreVvooBlocksOfIntegrals) {
  std::set<std::size_t> numbers;
  for_each_factored_problem([&](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelStore stored(problem.of_integrals, tiles), store(problem.of_factors, tiles);
    double largest = 0.0;
    stored.layout().visit([&](const PanelKey& key, const PanelExtent& extent) {
      if (key.kind != PanelKind::vvoo) return;
      ASSERT_NE(store.layout().find(key), nullptr);
      EXPECT_EQ(store.layout().find(key)->doubles, 0);
      EXPECT_EQ(store.layout().whole_doubles(key), extent.doubles);
      EXPECT_EQ(store.acquire_stored(key).data, nullptr);
      const Panel block = stored.acquire(key);
      const MultipliedRows made(store, key);
      EXPECT_EQ(made.rows().count() * made.rows().length, extent.doubles);
      numbers.insert(made.products());
      for (std::int64_t n = 0; n < extent.doubles; ++n) {
        const double found = made.element(n / made.rows().length, n % made.rows().length);
        ASSERT_NEAR(found, block.data[n], 1e-15) << n;
        largest = std::max(largest, std::abs(found));
      }
    });
    EXPECT_GT(largest, 1e-4);
  });
  EXPECT_EQ(numbers, (std::set<std::size_t>{1, 2}));
}

TEST(FactorProducts, LeaveBlocksOfAmplitudesInTheLayout) {
  FactoredProblem problem(open_shell(Reference::uhf, {4, 3, 5, 6}), SpinFormulation::spin_orbital);
  problem.of_factors.method = ccsd_t_with_fock;
  const PanelLayout layout(problem.of_factors, problem.with_factors.tiles());
  std::set<std::size_t> sets;
  std::int64_t doubles = 0;
  layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
    doubles += extent.doubles;
    if (key.kind == PanelKind::vvoo) sets.insert(key.set);
  });
  EXPECT_EQ(sets, (std::set<std::size_t>{1})) << "t2 beside f_ov";
  EXPECT_EQ(doubles, PanelLayout::required_doubles(problem.of_factors, problem.with_factors.tiles()));
}

TEST(FactorProducts, ReadAllSlabsOfTheLayoutAndNoOther) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelLayout layout(problem.of_factors, tiles), whole(problem.of_integrals, tiles);
    std::set<std::int64_t> read, all;
    std::int64_t end = 0, slabs = 0;
    layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
      EXPECT_EQ(extent.begin, end);
      EXPECT_GT(extent.doubles, 0);
      end += extent.doubles;
      all.insert(extent.begin);
      if (is_slab(key.kind)) slabs += extent.doubles;
    });
    EXPECT_EQ(layout.doubles(), end);
    EXPECT_EQ(PanelLayout::required_doubles(problem.of_factors, tiles), end);
    EXPECT_EQ(PanelLayout::whole_doubles(problem.of_factors, tiles), whole.doubles());
    // B[Q,p,d], B[Q,h,p] and B[Q,h,l] of all pairs, for each spin that is stored.
    const TileSpace& space = layout.tiles();
    std::int64_t most = 0;
    const auto add = [&](OrbitalClass h, OrbitalClass p) {
      const std::int64_t o = space.orbitals(h), v = space.orbitals(p);
      most += problem.with_factors.auxiliary() * (v * (v + o) + o * o);
    };
    add(OrbitalClass::hole_alpha, OrbitalClass::particle_alpha);
    if (!space.restricted()) add(OrbitalClass::hole_beta, OrbitalClass::particle_beta);
    EXPECT_GT(slabs, 0);
    EXPECT_LE(slabs, most);
    const Plan plan = make_plan(tiles, problem.of_factors.formulation);
    ContractionList contractions;
    for (const Task& task : plan.tasks) {
      list_contractions(tiles, plan.formulation, task, contractions);
      layout.visit_panels_of(task, contractions, [&](const PanelKey& key) {
        layout.visit_parts_of(key, [&](const PanelExtent& extent) { read.insert(extent.begin); });
      });
    }
    // If a spin has few orbitals of an irrep, there are panels that no task needs.
    EXPECT_TRUE(std::includes(all.begin(), all.end(), read.begin(), read.end()));
    if (plan.formulation == SpinFormulation::spin_adapted) {
      EXPECT_EQ(read, all);
    }
  });
}

}
}
