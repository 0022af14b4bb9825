#pragma once

#include <memory>

#include "tce_tiles/checks/dense_check.hpp"
#include "tce_tiles/checks/lambda_equation.hpp"
#include "tce_tiles/checks/lambda_ladder_free.hpp"

namespace trifuse {

/// Reads the small arrays of the Lambda equation: the arrays of `right`, and lambda1 of `left`. Throws InputError if an
/// array is missing or wrong.
LambdaProblem read_lambda_problem(const DenseInput& left, const DenseInput& right);

/// Appends stages with a Lambda equation to the check of left-hand amplitudes. If the integrals come from factors, it
/// is the equation of lambda_equation.hpp, else the one of lambda_ladder_free.hpp. Returns `check` itself if the
/// amplitudes are no Lambda amplitudes. If the integrals do not suffice, the measurements contain the reason.
///
/// `left`: the amplitudes that `check` checks. `right`: the input with t1, t2, the Fock matrix and the integrals. Of
/// `share`, only part, parts, threads and stop are used. Both inputs must outlive the check.
std::unique_ptr<SourceCheck> with_lambda_equation(std::unique_ptr<SourceCheck> check, const DenseInput& left,
                                                  const DenseInput& right, const DenseCheck& share);

}
