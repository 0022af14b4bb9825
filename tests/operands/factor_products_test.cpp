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

/// The particles of a row [h,p,p'] of a right panel, multiplied out element by element.
class MultipliedRow {
 public:
  MultipliedRow(const PanelStore& store, const PanelKey& right)
      : space_(store.tiles()), auxiliary_(store.layout().auxiliary()), right_(right) {
    const PanelTiles tiles{right.tiles[0], right.tiles[1], right.tiles[2]};
    for (const FactorProduct& product : factor_products(space_, store.layout().formulation(), tiles)) {
      products_.push_back(product);
      vv_.push_back(store.acquire(product.vv));
      ov_.push_back(store.acquire(product.ov));
    }
  }

  std::size_t products() const { return products_.size(); }
  double element(std::int64_t h, const std::array<std::int64_t, 2>& p, std::int64_t d, std::int64_t particles) const {
    double sum = 0.0;
    for (std::size_t n = 0; n < products_.size(); ++n) {
      const auto batched = static_cast<std::size_t>(products_[n].batched), other = 1 - batched;
      const std::int64_t others = space_[right_.tiles[other]].size;
      const double* const vv = vv_[n].data + p[batched] * auxiliary_ * particles + d;
      const double* const ov = ov_[n].data + (h * others + p[other]) * auxiliary_;
      for (std::int64_t q = 0; q < auxiliary_; ++q) sum += products_[n].sign * ov[q] * vv[q * particles];
    }
    return sum;
  }

 private:
  const TileSpace& space_;
  std::int64_t auxiliary_;
  PanelKey right_;
  std::vector<FactorProduct> products_;
  std::vector<Panel> vv_, ov_;
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
      const MultipliedRow row(store, key);
      numbers.insert(row.products());
      const Panel of_holes = store.acquire_stored(key);
      EXPECT_EQ(of_holes.data == nullptr, holes == 0);
      const std::int64_t np = tiles[key.tiles[0]].size, npp = tiles[key.tiles[1]].size, nh = tiles[key.tiles[2]].size;
      for (std::int64_t n = 0; n < nh * np * npp; ++n) {
        const double* const expected = whole.data - rows.begin + n * whole.stride;
        for (std::int64_t d = 0; d < particles; ++d) {
          const double found = row.element(n / (np * npp), {n / npp % np, n % npp}, d, particles);
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
