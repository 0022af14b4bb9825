#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/plan/executor.hpp"

namespace trifuse::testing {

/// Options of a calculation on one thread.
inline CalculationOptions options_for(std::optional<SpinFormulation> formulation = {},
                                      std::optional<std::int64_t> tile_size = {}) {
  CalculationOptions options;
  options.formulation = formulation;
  options.tile_size = tile_size;
  options.threads = 1;
  return options;
}

inline CalculationResult calculate(const TileSource& right, const CalculationOptions& options = options_for(),
                                   const TileSource* left = nullptr) {
  return Calculation(right, left, options).run();
}

/// All numbers of a result one after another, for a comparison of bits.
inline std::vector<double> numbers_of(const CalculationResult& result) {
  std::vector<double> numbers;
  for (const TriplesEnergy& energy : result.energies) {
    numbers.insert(numbers.end(), {energy.total.e_bracket_t, energy.total.e_paren_t});
    for (const EnergyPair& pair : energy.spin_cases) numbers.insert(numbers.end(), {pair.e_bracket_t, pair.e_paren_t});
  }
  return numbers;
}

inline std::vector<double> numbers_of(std::span<const TaskEnergy> energies) {
  std::vector<double> numbers;
  for (const TaskEnergy& e : energies) {
    numbers.insert(numbers.end(), {e.e_bracket_t_same, e.e_paren_t_same, e.e_bracket_t_mixed, e.e_paren_t_mixed});
  }
  return numbers;
}

/// Largest difference relative to the largest number of both lists; 1 if the lists cannot be compared or are zero.
inline double relative_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double difference = 0.0, scale = 0.0;
  if (x.size() != y.size()) return 1.0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (!std::isfinite(x[n]) || !std::isfinite(y[n])) return 1.0;
    difference = std::max(difference, std::abs(x[n] - y[n]));
    scale = std::max({scale, std::abs(x[n]), std::abs(y[n])});
  }
  return scale > 0.0 ? difference / scale : 1.0;
}

}  // namespace trifuse::testing
