#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "cxx/operands/distributed_operands.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"
#include "tests/support/derivatives_of_reference.hpp"
#include "tests/support/factored_source.hpp"
#include "tests/support/other_methods.hpp"
#include "tests/support/problems.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"

/// Sums of derivatives of the CPU executor. The energies with which they are compared are those of the reference
/// evaluation.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// A source with `kept` times the numbers of a source, and for some tensors `added` times those of another source.
class Changed final : public WrappedSource {
 public:
  Changed(const TileSource& source, const TileSource& other, std::vector<TensorKind> tensors, double kept, double added)
      : WrappedSource(source), other_(other), tensors_(std::move(tensors)), kept_(kept), added_(added) {}

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override {
    source().read_block(tensor, tiles, block);
    std::vector<double> more(block.size());
    if (std::find(tensors_.begin(), tensors_.end(), tensor) != tensors_.end()) other_.read_block(tensor, tiles, more);
    for (std::size_t n = 0; n < block.size(); ++n) block[n] = kept_ * block[n] + added_ * more[n];
  }

  const TileSource& other_;
  const std::vector<TensorKind> tensors_;
  const double kept_, added_;
};

/// A problem with derivatives, and other sources of the same orbitals.
struct WithDirections {
  OwnedProblem owned;
  std::unique_ptr<TileSource> right, left;
  Plan plan;

  WithDirections(const SyntheticMolecule& molecule, SpinFormulation formulation, bool two_sided, const Method& method)
      : owned(molecule, formulation, two_sided),
        right(make_synthetic_source(other(molecule))),
        left(make_synthetic_source(other(other_amplitudes(molecule)))),
        plan(make_plan(owned.right->tiles().retiled(3, 4), formulation)) {
    owned.problem.method = method;
    owned.problem.quotients = {0.05};
    owned.problem.derivatives = Derivatives::all;
  }
  /// Calls `use` with a problem whose sources are changed, see Changed.
  template <typename Use>
  auto with(const std::vector<TensorKind>& tensors, double kept, double added, Use use) const {
    const Changed changed_right(*owned.right, *right, tensors, kept, added);
    const Changed changed_left(owned.left ? *owned.left : *owned.right, *left, tensors, kept, added);
    Problem problem = owned.problem;
    problem.right = &changed_right;
    if (owned.left) problem.left = &changed_left;
    return use(problem);
  }
  double energy(const std::vector<TensorKind>& tensors, double added) const {
    return with(tensors, 1.0, added, [&](const Problem& problem) {
      const auto executor = make_reference_executor(problem, plan.tiles);
      const auto worker = executor->make_worker();
      std::vector<TaskEnergy> energies(plan.tasks.size());
      worker->execute(plan.tasks, energies);
      return std::accumulate(energies.begin(), energies.end(), 0.0, [](double sum, const TaskEnergy& e) {
        return sum + e.same.e_paren_t + e.mixed.e_paren_t;
      });
    });
  }
  /// Returns the sum over all operands of derivative times direction.
  double times_direction(const std::vector<ZeroedVector<std::int64_t>>& sums, const TileSpace& panel_tiles,
                         const std::vector<TensorKind>& tensors) const {
    return with(tensors, 0.0, 1.0, [&](const Problem& problem) {
      const PanelStore store(problem, panel_tiles);
      double sum = 0.0;
      const auto add = [&](std::span<const std::int64_t> derivatives, std::int64_t begin, const double* direction,
                           std::size_t count) {
        for (std::size_t n = 0; n < count; ++n)
          sum +=
              unit_of_operands * static_cast<double>(derivatives[static_cast<std::size_t>(begin) + n]) * direction[n];
      };
      const PanelLayout &whole = store.layout(), &of_sums = store.layout_of_sums();
      of_sums.visit([&](const PanelKey& key, const PanelExtent& extent) {
        const Panel panel = store.acquire(key);
        const auto& derivatives = sums[DerivativeSums::operands];
        if (key.kind == PanelKind::vvoo)
          return add(derivatives, extent.begin, panel.data, static_cast<std::size_t>(extent.doubles));
        const double* const data = panel.data - whole.rows(key).begin;
        if (of_sums.has_whole_rows())
          return add(derivatives, extent.begin, data, static_cast<std::size_t>(extent.doubles));
        const ContractedExtent contracted = whole.contracted(key);
        const auto count =
            static_cast<std::size_t>(key.kind == PanelKind::left ? contracted.particles : contracted.holes);
        for (const Side side : of_sums.sides_in_panel(key)) {
          PanelKey of_side = key;
          of_side.side = side;
          const PanelRows from = whole.rows(of_side), to = of_sums.stored_rows(of_side);
          for (std::int64_t row = 0; row < extent.doubles / to.stride; ++row) {
            add(derivatives, extent.begin + row * to.stride + to.amplitude_part(key.kind),
                data + row * from.stride + from.amplitude_part(key.kind), count);
          }
        }
      });
      for (std::size_t set = 0; set < store.layout().sets(); ++set) {
        const std::span<const std::int64_t> derivatives = sums[DerivativeSums::ov_tensor(set)];
        add(derivatives, 0, store.ov_tensor(set).data(), derivatives.size());
      }
      return sum;
    });
  }

 private:
  static SyntheticMolecule other(SyntheticMolecule molecule) {
    molecule.seed += 5;
    return molecule;
  }
};

std::vector<ZeroedVector<std::int64_t>> sums_of(const Problem& problem, const Plan& plan, CpuTiles tiles,
                                                const RunSettings& settings) {
  const auto executor = make_cpu_executor(problem, plan.tiles, tiles);
  const PanelLayout layout = layout_of_derivatives(problem, cpu_panel_tiles(plan.tiles, tiles));
  return run_tasks(plan, *executor, {1, derivative_sums(layout)}, settings).sums;
}

class DerivativesOf : public ::testing::TestWithParam<NamedMolecule> {};

/// E(T) is of the second degree in t2 of all sides, in the integrals, and in t1 and f_ov. So differences of energies
/// have no error of truncation.
TEST_P(DerivativesOf, PredictTheChangeOfTheEnergyInRandomDirections) {
  using enum TensorKind;
  constexpr CpuTiles subtasks{2, 3};
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : ""));
      WithDirections x(GetParam().molecule, formulation, two_sided, two_sided ? weighted_with_fock : ccsd_t_with_fock);
      const TileSpace panel_tiles = cpu_panel_tiles(x.plan.tiles, subtasks);
      const auto sums = sums_of(x.owned.problem, x.plan, subtasks, {});
      const auto expect_change = [&](const auto& of, const std::vector<TensorKind>& tensors) {
        const double up = x.energy(tensors, +1.0), down = x.energy(tensors, -1.0);
        EXPECT_NEAR(x.times_direction(of, panel_tiles, tensors), 0.5 * (up - down),
                    1e-11 * (std::abs(up) + std::abs(down)) + 1e-15);
      };
      expect_change(sums, {t2});
      expect_change(sums, {v2});
      expect_change(sums, {t1, fock});
      Problem& problem = x.owned.problem;
      problem.derivatives = Derivatives::amplitudes;
      expect_change(sums_of(problem, x.plan, subtasks, {}), {t2});
    }
  }
}

TEST_P(DerivativesOf, EqualThoseOfTheReferenceEvaluation) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const bool two_sided : {false, true}) {
      SCOPED_TRACE(to_string(formulation) + (two_sided ? ", two sides" : ""));
      const WithDirections x(GetParam().molecule, formulation, two_sided,
                             two_sided ? weighted_with_fock : ccsd_t_with_fock);
      constexpr CpuTiles subtasks{2, 3};
      const Problem& problem = x.owned.problem;
      const PanelLayout layout = layout_of_derivatives(problem, cpu_panel_tiles(x.plan.tiles, subtasks));
      AgainstTheReference(problem, x.plan, layout, sums_of(problem, x.plan, subtasks, {})).expect_equal();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, DerivativesOf, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

/// Executors of different kinds want different tiles.
TEST(SumsOfDerivatives, OfRanksWithDifferentTilesHaveOneLayout) {
  const WithDirections x(closed_shell(6, 11), SpinFormulation::spin_adapted, false, ccsd_t);
  const Problem& problem = x.owned.problem;
  constexpr CpuTiles finest{2, 3}, of_rank[] = {{3, 3}, {2, 4}, {1, 1}};
  const auto expected = sums_of(problem, x.plan, finest, {});
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    const CpuTiles mine = of_rank[communicator.rank()];
    const bool idle = communicator.rank() == 2;
    std::unique_ptr<PanelExecutor> executor;
    if (!idle) executor = prepare_cpu_executor(problem, x.plan.tiles, mine);
    const auto tiles = finest_tiles(communicator, x.plan.tiles, idle ? nullptr : &executor->panel_tiles());
    ASSERT_TRUE(tiles.has_value());
    EXPECT_EQ(*tiles, cpu_panel_tiles(x.plan.tiles, finest));
    const DistributedOperands operands(communicator, problem, x.plan.tiles, &*tiles, {}, std::int64_t{1} << 30);
    if (!idle) executor->take_panels(operands.panels());
    EXPECT_EQ(run_tasks(x.plan, executor.get(), {1, derivative_sums(PanelLayout(problem, *tiles))},
                        {.communicator = &communicator})
                  .sums,
              expected);
    EXPECT_FALSE(finest_tiles(communicator, x.plan.tiles, nullptr).has_value());
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

/// Returns the derivatives by all blocks of amplitudes, one after another.
std::vector<double> by_amplitudes(const Problem& problem, const TileSpace& panel_tiles,
                                  const std::vector<ZeroedVector<std::int64_t>>& sums) {
  const PanelLayout layout = layout_of_derivatives(problem, panel_tiles);
  std::vector<double> all;
  for (const PanelBlocks::Use& use : PanelBlocks(layout).uses(problem)) {
    if (use.tensor != TensorKind::t2) continue;
    for_each_block(layout, use, HostSums(sums[DerivativeSums::operands]),
                   [&](const PanelBlocks::BlockTiles&, std::span<const double> block) {
                     all.insert(all.end(), block.begin(), block.end());
                   });
  }
  return all;
}

TEST(SumsOfDerivatives, WithFactorsAreThoseOfStoredIntegrals) {
  const auto expect_near = [](const auto& found, const auto& expected) {
    constexpr double limit = 1e-14 / unit_of_operands;
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0.0;
    for (std::size_t n = 0; n < found.size(); ++n)
      largest = std::max(largest, std::abs(static_cast<double>(found[n]) - static_cast<double>(expected[n])));
    ASSERT_LE(largest, limit);
  };
  for_each_factored_problem([&](FactoredProblem& problem, const TileSpace& tiles) {
    constexpr CpuTiles subtasks{2, 3};
    const TileSpace panel_tiles = cpu_panel_tiles(tiles, subtasks);
    const Plan plan = make_plan(tiles, problem.of_factors.formulation);
    for (const Derivatives wanted : {Derivatives::all, Derivatives::amplitudes}) {
      problem.of_factors.derivatives = problem.of_integrals.derivatives = wanted;
      const auto found = sums_of(problem.of_factors, plan, subtasks, {}),
                 expected = sums_of(problem.of_integrals, plan, subtasks, {});
      if (wanted == Derivatives::all) expect_near(found[0], expected[0]);
      expect_near(by_amplitudes(problem.of_factors, panel_tiles, found),
                  by_amplitudes(problem.of_integrals, panel_tiles, expected));
      for (std::size_t n = 1; n < expected.size(); ++n) expect_near(found[n], expected[n]);
    }
  });
}

// Near the end of the range other sums may have left it.
TEST(SumsOfDerivatives, AreRefusedAboveAQuarterOfTheirRange) {
  const WithDirections x(closed_shell(5, 8), SpinFormulation::spin_adapted, false, ccsd_t);
  const PanelLayout layout = layout_of_derivatives(x.owned.problem, cpu_panel_tiles(x.plan.tiles, CpuTiles{2, 3}));
  const auto largest_of = [&](std::int64_t each_sum) {
    ZeroedVector<std::int64_t> equal_sums(static_cast<std::size_t>(layout.doubles()));
    std::fill(equal_sums.begin(), equal_sums.end(), each_sum);
    const HostSums sums(std::move(equal_sums));
    double largest = 0.0;
    for (const PanelBlocks::Use& use : PanelBlocks(layout).uses(x.owned.problem)) {
      if (use.tensor != TensorKind::t2) continue;
      for_each_block(layout, use, sums, [&](const PanelBlocks::BlockTiles&, std::span<const double> block) {
        largest = std::max(largest, *std::max_element(block.begin(), block.end()));
      });
    }
    return largest;
  };
  constexpr std::int64_t small = std::int64_t{1} << 55;
  EXPECT_GE(largest_of(small), 2.0 * static_cast<double>(small));  // an element has several copies in panels
  expect_failure<InputError>([&] { largest_of(std::int64_t{1} << 62); }, "sums of derivatives hold up to 8 hartree");
}

TEST(SumsOfDerivatives, HaveTheSameBitsOnAnyNumberOfThreadsAndRanks) {
  for (const auto& [molecule, formulation] :
       {std::pair{closed_shell(5, 8), SpinFormulation::spin_adapted},
        std::pair{open_shell(Reference::uhf, {4, 3, 5, 6}), SpinFormulation::spin_orbital}}) {
    const WithDirections x(molecule, formulation, false, ccsd_t);
    constexpr CpuTiles subtasks{2, 3};
    const auto expected = sums_of(x.owned.problem, x.plan, subtasks, {});
    for (const int threads : {2, 3}) {
      EXPECT_EQ(sums_of(x.owned.problem, x.plan, subtasks, {.threads = threads}), expected);
    }
    failures_of_ranks(2, [&](Communicator& communicator) {
      EXPECT_EQ(sums_of(x.owned.problem, x.plan, subtasks, {.threads = 2, .communicator = &communicator}), expected);
    });
  }
}

}
}
