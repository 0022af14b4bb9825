#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cxx/cpu/cpu_executor.hpp"
#include "cxx/cpu/reference_executor.hpp"
#include "cxx/operands/panel_store.hpp"
#include "cxx/triples/quotient.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tests/support/problem_with_quotients.hpp"
#include "tests/support/random_denominators.hpp"

/// Quotients other than shifts by omega2: denominators of tables, no denominator, and C3 as the right factor.
namespace trifuse {
namespace {

using namespace trifuse::testing;

class QuotientsFor : public ::testing::TestWithParam<NamedMolecule> {};

TEST_P(QuotientsFor, HaveTheEnergiesOfTheReference) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    for (const int sides : {1, 2, 3}) {
      SCOPED_TRACE(to_string(formulation) + ", sides " + std::to_string(sides));
      const ProblemWithQuotients owned(GetParam().molecule, formulation, sides);
      const std::size_t count = owned.problem.quotients.size();
      const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
      const auto reference = task_numbers(*make_reference_executor(owned.problem, plan.tiles), plan, count);
      const std::size_t numbers = TaskEnergy::numbers, stride = count * numbers;
      // The number of sides does not change how subtasks are cut.
      const auto all_limits =
          sides == 2 ? std::vector<CpuTiles>{{1, 1}, {2, 3}, {4, 16}} : std::vector<CpuTiles>{{2, 3}};
      for (const CpuTiles limits : all_limits) {
        const auto found = task_numbers(*make_cpu_executor(owned.problem, plan.tiles, limits), plan, count);
        ASSERT_EQ(found.size(), reference.size());
        // Each quotient has a magnitude of its own.
        for (std::size_t w = 0; w < count; ++w) {
          const auto of_quotient = [&](const std::vector<double>& all) {
            std::vector<double> some;
            for (std::size_t n = w * numbers; n < all.size(); n += stride)
              some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(n),
                          all.begin() + static_cast<std::ptrdiff_t>(n + numbers));
            return some;
          };
          EXPECT_LT(relative_difference(of_quotient(found), of_quotient(reference)), 1e-12) << "quotient " << w;
        }
      }
    }
  }
}

/// With tables that hold the orbital energies only, the energies are those of the orbital energies. So the tables have
/// the order of the orbitals, also with irreps.
TEST_P(QuotientsFor, OfTablesAreThoseOfOrbitalEnergies) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    ProblemWithQuotients owned(GetParam().molecule, formulation, 1);
    const auto energies = owned.right->orbital_energies();
    const auto first_particle =
        static_cast<std::size_t>(owned.right->tiles()[owned.right->tiles().hole_tiles()].offset);
    for (std::size_t i = 0; i < owned.tables.h.size(); ++i) owned.tables.h[i] = energies[i];
    for (std::size_t a = 0; a < owned.tables.p.size(); ++a) owned.tables.p[a] = energies[first_particle + a];
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
    const auto of = [&](Denominator denominator) {
      owned.problem.quotients = {denominator, {denominator, RightFactor::disconnected}};
      return task_numbers(*make_cpu_executor(owned.problem, plan.tiles, {2, 3}), plan, 2);
    };
    EXPECT_LT(relative_difference(of(Denominator::one_body), of(Denominator::orbital_energies)), 1e-12);
  }
}

/// The numerators of these elements are zero except for rounding.
TEST_P(QuotientsFor, LeaveOutElementsWithEqualOrbitalsOfEqualSpins) {
  for (const SpinFormulation formulation : GetParam().formulations()) {
    SCOPED_TRACE(to_string(formulation));
    ProblemWithQuotients owned(GetParam().molecule, formulation, 3);
    const Plan plan = make_plan(owned.right->tiles().retiled(3, 4), formulation);
    const std::size_t count = owned.problem.quotients.size();
    const auto numbers = [&] {
      return task_numbers(*make_cpu_executor(owned.problem, plan.tiles, {2, 3}), plan, count);
    };
    const auto expected = numbers();
    owned.tables = random_denominators(owned.right->tiles(), formulation, 2.1);
    EXPECT_EQ(numbers(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, QuotientsFor, ::testing::ValuesIn(molecules_of_every_kind()), molecule_name);

TEST(Quotients, HaveTheSameBitsForAnyNumberOfThreads) {
  const ProblemWithQuotients owned(closed_shell(4, 6, 2), SpinFormulation::spin_adapted, 3);
  const Plan plan = make_plan(owned.right->tiles(), SpinFormulation::spin_adapted);
  std::vector<double> alone;
  for (const int threads : {1, 3}) {
    const auto executor = prepare_cpu_executor(owned.problem, plan.tiles, {1, 2}, threads);
    executor->take_panels(std::make_shared<PanelStore>(owned.problem, plan.tiles));
    const auto found = task_numbers(*executor, plan, owned.problem.quotients.size());
    if (alone.empty()) alone = found;
    EXPECT_EQ(found, alone);
  }
}

TEST(Quotients, NeedTheirOperands) {
  ProblemWithQuotients owned(closed_shell(2, 3), SpinFormulation::spin_adapted, 1);
  const TileSpace& tiles = owned.right->tiles();
  owned.problem.quotients = {Denominator::one_body};
  owned.problem.denominators = nullptr;
  EXPECT_THROW(make_cpu_executor(owned.problem, tiles), std::logic_error);
  EXPECT_THROW(make_reference_executor(owned.problem, tiles), std::logic_error);
  owned.problem.quotients = {{Denominator::one, RightFactor::disconnected}};
  owned.problem.disconnected = nullptr;
  EXPECT_THROW(make_cpu_executor(owned.problem, tiles), std::logic_error);
  EXPECT_THROW(make_reference_executor(owned.problem, tiles), std::logic_error);
  owned.problem.quotients = {{Denominator::one, RightFactor::connected, Side::second_left}};
  EXPECT_THROW(make_cpu_executor(owned.problem, tiles), std::logic_error);
  EXPECT_THROW(make_reference_executor(owned.problem, tiles), std::logic_error);
}

}
}
