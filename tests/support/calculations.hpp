#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/plan/executor.hpp"

namespace trifuse::testing {

/// Returns the options of a calculation on one thread.
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

/// Returns all numbers of a result one after another, for a comparison of bits.
inline std::vector<double> numbers_of(const CalculationResult& result) {
  std::vector<double> numbers;
  for (const TriplesEnergy& energy : result.energies) {
    const auto append = [&](const Energies& energies) {
      for (const double number : energies.values()) numbers.push_back(number);
    };
    append(energy.total);
    for (const Energies& of_case : energy.spin_cases) append(of_case);
  }
  return numbers;
}

inline std::vector<double> numbers_of(std::span<const TaskEnergy> energies) {
  std::vector<double> numbers;
  for (const TaskEnergy& e : energies) {
    for (const double number : e.as_numbers()) numbers.push_back(number);
  }
  return numbers;
}

/// Returns the largest difference relative to the largest number of both lists; 1 if the lists cannot be compared or
/// are zero.
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

}
