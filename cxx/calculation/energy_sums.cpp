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

std::vector<TriplesEnergy> sum_energies(const Problem& problem, const Plan& plan,
                                        std::span<const TaskEnergy> energies) {
  const std::size_t count = problem.quotients.size();
  const SourceInfo* const left = problem.left != nullptr ? &problem.left->info() : nullptr;
  std::vector<TriplesEnergy> sums;
  for (std::size_t w = 0; w < count; ++w) {
    TriplesEnergy energy;
    energy.omega2 = problem.quotients[w].omega2;
    energy.method = name_of(problem.method, problem.right->info(), left, energy.omega2);
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
      add_task(plan.tiles, plan.tasks[t], energies[t * count + w], energy.spin_cases);
    }
    for (const Energies& of_case : energy.spin_cases) energy.total += of_case;
    energy.uncorrected = energy.total;
    sums.push_back(std::move(energy));
  }
  return sums;
}

}
