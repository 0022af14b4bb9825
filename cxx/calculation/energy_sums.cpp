#include "cxx/calculation/energy_sums.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace trifuse {

namespace {

/// Adds the energies of a task to its spin cases. In a restricted space, aaa = bbb and aab = abb by spin symmetry.
void add_task(const TileSpace& tiles, const Task& task, const TaskEnergy& energy, std::array<Energies, 4>& cases) {
  const auto of_case = [&](SpinCase spin_case) -> Energies& { return cases[static_cast<std::size_t>(spin_case)]; };
  if (tiles.restricted()) {
    of_case(SpinCase::aaa) += 0.5 * energy.same;
    of_case(SpinCase::bbb) += 0.5 * energy.same;
    of_case(SpinCase::aab) += 0.5 * energy.mixed;
    of_case(SpinCase::abb) += 0.5 * energy.mixed;
  } else {
    of_case(task.spin_case) += energy.same + energy.mixed;
  }
}

}

std::vector<TriplesEnergy> sum_energies(const CalculationState& state, std::span<const TaskEnergy> energies) {
  const std::vector<Quotient>& quotients = state.problem.quotients;
  const Plan& plan = state.plan;
  std::vector<TriplesEnergy> sums;
  for (const NamedEnergy& named : state.energies) {
    TriplesEnergy energy;
    energy.omega2 = quotients[named.quotient].omega2;
    energy.method = named.method;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      add_task(plan.tiles, plan.tasks[t], energies[t * quotients.size() + named.quotient], energy.spin_cases);
    }
    for (const Energies& of_case : energy.spin_cases) energy.total += of_case;
    energy.uncorrected = energy.total;
    sums.push_back(std::move(energy));
  }
  return sums;
}

}
