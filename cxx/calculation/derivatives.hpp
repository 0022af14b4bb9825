#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cxx/calculation/calculation.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Throws UsageError if the derivatives of a calculation cannot be computed. `options`: with defaults filled in.
/// `problem`: of the calculation. `rotates`: true if its orbitals are rotated. `on_gpus`: true if this rank or another
/// one has GPUs.
void require_derivatives(const CalculationOptions& options, const Problem& problem, bool rotates, bool on_gpus);

/// Makes the derivatives by the arrays of the input from the sums of the tasks. `layout`: the panels of the sums.
/// `sums`: see DerivativeSums; they are used up. `threads`: at least 1.
std::vector<NamedDerivative> make_derivatives(const Problem& problem, const PanelLayout& layout,
                                              std::vector<ZeroedVector<std::int64_t>> sums, int threads);

/// Compares sums of derivative times operand with the energies, which are homogeneous functions of the operands
/// (Euler). Reads the arrays of the input again. Throws Error if they contradict each other: then a panel was wrong, or
/// a sum left its range. `layout`: of the sums. `energy`: of the omega2 of the run. `precision`: of the tasks.
/// `threads`: at least 1. Returns the largest error of a sum, relative to the sum of magnitudes.
double check_derivatives(const Problem& problem, const PanelLayout& layout,
                         std::span<const NamedDerivative> derivatives, const Energies& energy, Precision precision,
                         int threads);

}
