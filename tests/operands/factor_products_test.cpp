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

  const FactorRows& rows() const { return rows_; }
  std::size_t products() const { return products_.size(); }
  /// Element `n` of row `row`.
  double element(std::int64_t row, std::int64_t n) const {
    const auto& extent = rows_.extent;
    const std::array<std::int64_t, 3> at = {row / (extent[1] * extent[2]), row / extent[2] % extent[1],
                                            row % extent[2]};
    double sum = 0.0;
    for (std::size_t m = 0; m < products_.size(); ++m) {
      const FactorProduct& product = products_[m];
      const bool of_particles = product.second.kind == PanelKind::factors_vv;
      const double* const first = first_[m].data + (at[product.x] * extent[product.y] + at[product.y]) * auxiliary_;
      const double* const second =
          second_[m].data + at[product.z] * auxiliary_ * rows_.length + (of_particles ? n : n * auxiliary_);
      const std::int64_t step = of_particles ? rows_.length : 1;
      for (std::int64_t q = 0; q < auxiliary_; ++q) sum += product.sign * first[q] * second[q * step];
    }
    return sum;
  }

 private:
  std::int64_t auxiliary_;
  FactorRows rows_;
  std::vector<FactorProduct> products_;
  std::vector<Panel> first_, second_;
};

TEST(FactorProducts, AreTheParticlesOfRightPanels) {
  std::set<std::size_t> numbers;
  for_each_factored_problem([&](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelStore stored(problem.of_integrals, tiles), store(problem.of_factors, tiles);
    EXPECT_EQ(store.layout().auxiliary(), problem.with_factors.auxiliary());
    ASSERT_FALSE(stored.layout().has_factors());
    double largest = 0.0;
    stored.layout().visit([&](const PanelKey& key, const PanelExtent&) {
      if (key.kind != PanelKind::right) return;
      const Panel whole = stored.acquire(key);
      const PanelRows rows = stored.layout().rows(key);
      EXPECT_EQ(store.layout().rows(key).stride, rows.stride);
      EXPECT_EQ(store.layout().whole_doubles(key), stored.layout().find(key)->doubles);
      ContractedIndex contracted{};
      right_contracted_index(tiles, problem.of_factors.formulation, {key.tiles[0], key.tiles[1], key.tiles[2]},
                             contracted);
      const auto [particles, holes] = contracted_extent(tiles, contracted);
      const MultipliedRows made(store, key);
      EXPECT_EQ(made.rows().length, particles);
      numbers.insert(made.products());
      const Panel of_holes = store.acquire_stored(key);
      EXPECT_EQ(of_holes.data == nullptr, holes == 0);
      for (std::int64_t n = 0; n < made.rows().count(); ++n) {
        const double* const expected = whole.data - rows.begin + n * whole.stride;
        for (std::int64_t d = 0; d < particles; ++d) {
          const double found = made.element(n, d);
          ASSERT_NEAR(found, expected[rows.particle_part + d], 1e-15) << n << " " << d;
          largest = std::max(largest, std::abs(found));
        }
        for (std::int64_t l = 0; l < holes; ++l) {
          ASSERT_EQ(of_holes.data[n * of_holes.stride + l], expected[rows.hole_part + l]) << n << " " << l;
        }
      }
    });
    EXPECT_GT(largest, 1e-4);
  });
  EXPECT_EQ(numbers, (std::set<std::size_t>{0, 1, 2}));
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
      if (key.kind == PanelKind::factors_vv || key.kind == PanelKind::factors_ov) slabs += extent.doubles;
    });
    EXPECT_EQ(layout.doubles(), end);
    EXPECT_EQ(PanelLayout::required_doubles(problem.of_factors, tiles), end);
    EXPECT_EQ(PanelLayout::whole_doubles(problem.of_factors, tiles), whole.doubles());
    // B[Q,p,d] of all pairs p, d and B[Q,h,p] of all pairs h, p, for each spin that is stored.
    const TileSpace& space = layout.tiles();
    std::int64_t most = 0;
    const auto add = [&](OrbitalClass h, OrbitalClass p) {
      most += problem.with_factors.auxiliary() * space.orbitals(p) * (space.orbitals(p) + space.orbitals(h));
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

}  // namespace
}  // namespace trifuse
