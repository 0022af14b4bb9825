#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "cxx/cuda/runtime/factor_panel_provider.hpp"
#include "cxx/cuda/runtime/host_panel_provider.hpp"
#include "cxx/cuda/runtime/panel_cache.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"
#include "tests/gpu/gpu_test_support.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/packed_panels.hpp"

/// Panels that a device makes from factors, compared with panels of the integrals of the same factors.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

constexpr OperandFormat fp64 = format_of<Fp64>();

class MadePanels : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) TRIFUSE_CUDA(cudaSetDevice(0));
  }
};

/// The panels that the tasks of a problem read.
std::vector<PanelName> made_panels(const Problem& problem, const TileSpace& tiles) {
  std::set<PanelName> names;
  ContractionList contractions;
  TaskProgram program;
  for (const Task& task : make_plan(tiles, problem.formulation).tasks) {
    write_program(problem, tiles, task, fp64, contractions, program);
    for (const auto& product : program.products) {
      if (product.k_steps > 0) names.insert({product.a, product.b});
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) names.insert(vvoo.name);
    }
  }
  return {names.begin(), names.end()};
}

/// A device with the panels of a problem with factors.
struct MakingDevice {
  PanelStore store;
  std::shared_ptr<FactorPanelProvider> maker;
  PanelCache cache;

  /// `slab_bytes`, `row_bytes`: memory of the provider.
  MakingDevice(const Problem& problem, const TileSpace& tiles, std::int64_t slab_bytes, std::int64_t row_bytes)
      : store(problem, tiles),
        maker(std::make_shared<FactorPanelProvider>(
            store, std::make_shared<UploadRing>(panel_demand(problem, tiles, fp64).slot, fewest_panel_slots),
            slab_bytes, row_bytes)),
        cache(tiles, problem.formulation, std::int64_t{1} << 26, {maker}) {}

  /// The numbers of a packed panel, which is made now unless it is in the cache.
  std::vector<double> numbers(const PanelName& name) {
    const Stream stream;
    std::vector<const std::byte*> pointers;
    EXPECT_TRUE(cache.acquire(std::span(&name, 1), pointers, stream));
    TRIFUSE_CUDA(cudaStreamSynchronize(stream));
    std::vector<double> found(
        static_cast<std::size_t>(packed_bytes(store.tiles(), store.layout().formulation(), name)) / sizeof(double));
    TRIFUSE_CUDA(cudaMemcpy(found.data(), pointers.front(), found.size() * sizeof(double), cudaMemcpyDeviceToHost));
    cache.release(std::span(&name, 1));
    return found;
  }
};

/// The packed panel that the host makes of stored integrals.
std::vector<double> packed_by_the_host(const PanelStore& store, const PanelName& name) {
  const Panel panel = store.acquire(name.key);
  return packed_panel<Fp64>(packing_of(store.tiles(), store.layout().formulation(), name, panel.stride), panel.data);
}

double largest(const std::vector<double>& numbers) {
  double most = 0.0;
  for (const double x : numbers) most = std::max(most, std::abs(x));
  return most;
}

TEST_F(MadePanels, EqualPanelsOfTheIntegrals) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelDemand demand = panel_demand(problem.of_factors, tiles, fp64);
    MakingDevice device(problem.of_factors, tiles, demand.slabs, demand.made_rows);
    const PanelStore stored(problem.of_integrals, tiles);
    const std::vector<PanelName> names = made_panels(problem.of_factors, tiles);
    ASSERT_FALSE(names.empty());
    double of_all = 0.0, worst = 0.0;
    for (const PanelName& name : names) {
      const std::vector<double> expected = packed_by_the_host(stored, name), found = device.numbers(name);
      ASSERT_EQ(found.size(), expected.size());
      of_all = std::max(of_all, largest(expected));
      for (std::size_t n = 0; n < found.size(); ++n) {
        const double difference = std::abs(found[n] - expected[n]);
        worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      }
    }
    // In some panels all terms of the sums over auxiliary functions cancel. So the numbers of all panels are the scale.
    EXPECT_GT(of_all, 0.0);
    EXPECT_LE(worst, 1e-13 * of_all);
    EXPECT_EQ(device.cache.produced_by(*device.maker).panels, std::ssize(names));
    EXPECT_GT(device.cache.produced_by(*device.maker).bytes, 0);
    // Every slab was sent once at most.
    const FactorPanelProvider::Statistics made = device.maker->statistics();
    std::int64_t slabs = 0;
    device.store.layout().visit([&](const PanelKey& key, const PanelExtent&) { slabs += is_slab(key.kind) ? 1 : 0; });
    EXPECT_LE(made.slabs.sent, slabs);
    EXPECT_GT(made.slabs.sent, 0);
    EXPECT_GT(made.bytes_made, 0);
    EXPECT_GT(made.seconds, 0.0);
  });
}

// With the least memory for slabs and rows, slabs come and go, and a panel is made in several parts. The order of the
// panels is another one.
TEST_F(MadePanels, HaveTheSameBitsWithLittleMemory) {
  struct Case {
    SyntheticMolecule molecule;
    SpinFormulation formulation;
    bool two_sided;
  };
  for (const Case& each : {Case{closed_shell(10, 11), SpinFormulation::spin_adapted, false},
                           Case{closed_shell(10, 11), SpinFormulation::spin_orbital, true},
                           Case{open_shell(Reference::uhf, {9, 6, 10, 13}, 2), SpinFormulation::spin_orbital, false}}) {
    SCOPED_TRACE(to_string(each.formulation));
    const FactoredProblem problem(each.molecule, each.formulation, each.two_sided, 31);
    const TileSpace tiles = problem.with_factors.tiles().retiled(10, 4);
    const PanelDemand demand = panel_demand(problem.of_factors, tiles, fp64);
    const std::vector<PanelName> names = made_panels(problem.of_factors, tiles);
    std::int64_t one_block = 0;
    for (const PanelName& name : names) {
      const PanelFactorRows rows = factor_rows(tiles, each.formulation, name.key);
      one_block = std::max(one_block, hole_group_size * rows.step(0) * SlabShape::even_row(rows.length));
    }
    one_block *= std::int64_t{sizeof(double)};
    ASSERT_GT(demand.made_rows, one_block);
    ASSERT_GT(demand.slabs, demand.slabs_at_once);
    MakingDevice roomy(problem.of_factors, tiles, demand.slabs, demand.made_rows),
        small(problem.of_factors, tiles, demand.slabs_at_once, one_block);
    std::vector<std::vector<double>> first;
    for (const PanelName& name : names) first.push_back(roomy.numbers(name));
    for (std::size_t n = names.size(); n-- > 0;) {
      const std::vector<double> again = small.numbers(names[n]);
      ASSERT_EQ(again.size(), first[n].size());
      EXPECT_EQ(std::memcmp(again.data(), first[n].data(), again.size() * sizeof(double)), 0) << "panel " << n;
    }
    EXPECT_GT(small.maker->statistics().slabs.sent, roomy.maker->statistics().slabs.sent);
    EXPECT_LE(small.maker->statistics().slabs.max_bytes, demand.slabs_at_once);
    EXPECT_GT(roomy.maker->statistics().slabs.max_bytes, demand.slabs_at_once);
  }
}

}
}
