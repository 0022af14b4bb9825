#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "cxx/calculation/derivative_arrays.hpp"
#include "cxx/calculation/made_derivatives.hpp"
#include "cxx/calculation/options.hpp"
#include "cxx/operands/panel_adjoint.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/plan/complete_sums.hpp"
#include "cxx/triples/problem.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

/// Throws UsageError if the derivatives of a calculation cannot be computed. `options`: with defaults filled in.
/// `problem`: of the calculation. `rotates`: true if its orbitals are rotated. `on_gpus`: true if this rank or another
/// one has GPUs.
void require_derivatives(const CalculationOptions& options, const Problem& problem, bool rotates, bool on_gpus);

/// Sums of derivative times operand, over all elements of the arrays of both sides, hartree.
struct DerivativeProducts {
  InnerProduct t1, t2, ovov, fock_ov;
  InnerProduct integrals;   ///< ovvv and ovoo, or factors_vv and factors_oo
  InnerProduct factors_ov;  ///< without factors 0
  InnerProduct energies;    ///< orbital energies and omega2
  InnerProduct shift;       ///< of the orbital energies by one number: sum of their derivatives
};

/// Multiplies derivatives by the operands, which are read again from the input. Derivatives that are still sums are
/// multiplied by the blocks whose elements stand in panels: that is the same number as the sum over the arrays, and no
/// array is made for it. `layout`: of the sums. `threads`: at least 1.
DerivativeProducts multiply_by_operands(const Problem& problem, const PanelLayout& layout,
                                        const MadeDerivatives& derivatives, int threads);

/// Compares the products with the energies, which are homogeneous functions of the operands (Euler). Throws Error if
/// they contradict each other: then a panel was wrong, or a sum left its range. `layout`: of the sums. `energy`: of the
/// omega2 of the run. `precision`: of the tasks. Returns the largest error of a sum, relative to the sum of magnitudes.
double check_derivatives(const Problem& problem, const PanelLayout& layout, const DerivativeProducts& products,
                         const Energies& energy, Precision precision);

/// Derivatives that agree with the energies.
struct CheckedDerivatives {
  std::shared_ptr<const DerivativeArrays> arrays;
  double error;  ///< see check_derivatives()
};

/// Makes the derivatives by the arrays of the input from the sums of the tasks, and checks them. Parameters and
/// exceptions are those of MadeDerivatives and of check_derivatives().
CheckedDerivatives make_derivatives(const Problem& problem, const PanelLayout& layout,
                                    std::shared_ptr<const CompleteSums> operands,
                                    const std::vector<ZeroedVector<std::int64_t>>& sums, const Energies& energy,
                                    Precision precision, int threads);

}
