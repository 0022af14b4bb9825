#include "cxx/calculation/energy_sums.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "cxx/triples/energy.hpp"

namespace trifuse {

namespace {

using EnergiesOfCases = std::array<Energies, 4>;

/// Adds the energies of a task to its spin cases. In a restricted space, aaa = bbb and aab = abb by spin symmetry.
void add_task(const TileSpace& tiles, const Task& task, const TaskEnergy& energy, EnergiesOfCases& cases) {
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

/// Returns `function` of each energy, in the order of Energies::values().
template <typename Function, typename... All>
Energies for_each_energy(Function function, const All&... energies) {
  std::array<double, Energies::count> values{};
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = function(energies.values()[n]...);
  return Energies::of_values(values.data());
}

/// Returns the first energy, which is that without S, and the parts that S has in the others of `of_s`.
Energies with_parts_of_s(const Energies& energies, const Energies& of_s) {
  const double first = energies.values().front(), without = of_s.values().front();
  return for_each_energy([&](double other) { return first + other - without; }, of_s);
}

/// Returns the range of the denominators of an energy.
DenominatorRange range_of_denominators(const CalculationState& state, const NamedEnergy& energy) {
  const Quotient& quotient = state.problem.quotients[energy.quotient];
  if (quotient.of_tables()) return state.methods->range_of(quotient.denominator);
  const double largest = state.largest_denominator - denominator_shift(quotient.omega2);
  return {std::abs(largest), largest};  // all are negative
}

}

std::string warning_of_denominators(const CalculationState& state) {
  constexpr double near_zero = 0.05;
  std::string names;
  bool positive = false;
  for (const NamedEnergy& energy : state.energies) {
    if (!state.problem.quotients[energy.quotient].of_tables()) continue;  // a run refuses the others
    const auto [smallest, largest] = range_of_denominators(state, energy);
    if (smallest >= near_zero && largest < 0.0) continue;
    names += fmt::format("{}{} (down to {:.4f} hartree)", names.empty() ? "" : ", ", energy.method, smallest);
    positive = positive || largest > 0.0;
  }
  if (names.empty()) return names;
  return fmt::format("Denominators come near 0{}: of {}. Such an energy is not reliable.",
                     positive ? ", and some are positive" : "", names);
}

Energies error_bar_of(const NamedEnergy& named, const TriplesEnergy& energy, std::span<const Energies> bars) {
  const Energies& bar = bars[named.quotient];
  if (named.disconnected) {
    auto values = bar.values();
    for (std::size_t n = 1; n < values.size(); ++n) values[n] += bars[*named.disconnected].values()[n];
    return Energies::of_values(values.data());
  }
  if (!named.overlap) return bar;
  return for_each_energy(
      [](double bar_of_sum, double value, double overlap, double bar_of_overlap) {
        return (bar_of_sum + std::abs(value) * bar_of_overlap) / std::abs(overlap);
      },
      bar, energy.total, *energy.overlap, bars[*named.overlap]);
}

std::vector<TriplesEnergy> sum_energies(const CalculationState& state, std::span<const TaskEnergy> energies) {
  const std::vector<Quotient>& quotients = state.problem.quotients;
  const Plan& plan = state.plan;
  const auto sums_of = [&](std::size_t quotient) {
    EnergiesOfCases cases{};
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
      add_task(plan.tiles, plan.tasks[t], energies[t * quotients.size() + quotient], cases);
    return cases;
  };
  std::vector<TriplesEnergy> sums;
  for (const NamedEnergy& named : state.energies) {
    TriplesEnergy energy;
    energy.omega2 = quotients[named.quotient].omega2;
    energy.method = named.method;
    energy.has_tables = quotients[named.quotient].of_tables();
    energy.smallest_denominator = range_of_denominators(state, named).smallest;
    energy.spin_cases = sums_of(named.quotient);
    if (named.disconnected) {
      const EnergiesOfCases others = sums_of(*named.disconnected);
      for (std::size_t s = 0; s < others.size(); ++s)
        energy.spin_cases[s] = with_parts_of_s(energy.spin_cases[s], others[s]);
    }
    if (named.overlap) {
      const double of_doubles = 1.0 + state.methods->overlap();
      Energies overlap{of_doubles, of_doubles};
      for (const Energies& of_case : sums_of(*named.overlap)) overlap += of_case;
      for (Energies& of_case : energy.spin_cases) of_case = for_each_energy(std::divides<>(), of_case, overlap);
      energy.overlap = overlap;
    }
    for (const Energies& of_case : energy.spin_cases) energy.total += of_case;
    energy.uncorrected = energy.total;
    sums.push_back(std::move(energy));
  }
  return sums;
}

}
