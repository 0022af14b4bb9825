#include "tce_tiles/checks/lambda_witness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tce_tiles/checks/make_witness.hpp"

namespace trifuse {
namespace {

/// Steps of Lambda singles (see LambdaResidual). Correct inputs have 8e-10 with tight convergence of PySCF, 4.3e-6 with
/// its defaults and with a requested convergence of 1e-4. Wrong amplitudes have at least 3.3e-4; 2 l - l^T in LiH,
/// where it hardly differs from l, 1.2e-4.
constexpr double max_lambda_step = 1e-4, usual_lambda_step = 1e-5;
/// The step of correct inputs is at most 4.3 times the norm with which their program stopped.
constexpr double lambda_steps_per_convergence = 15.0, rounding_lambda_step = 1e-9;

/// Returns the step above which Lambda amplitudes are worse than usual.
double usual_lambda_step_of(const SourceInfo& amplitudes) {
  if (!amplitudes.convergence) return usual_lambda_step;
  return std::clamp(lambda_steps_per_convergence * *amplitudes.convergence, rounding_lambda_step, usual_lambda_step);
}

}

void add_lambda_witness(const Measurements& measured, const SourceInfo& amplitudes, const SourceInfo& integrals,
                        CheckReport& report) {
  if (amplitudes.amplitudes != AmplitudeKind::lambda) return;
  Witness witness{"Lambda equation", WitnessStatus::unknown, {}, {}, measured.no_lambda_reason};
  const std::string files = files_of(amplitudes, integrals);
  if (!measured.lambda_singles) {
    if (witness.note.empty()) witness.note = "the left or the right input comes in blocks";
    report.warnings.push_back(
        fmt::format("{}: the Lambda amplitudes are checked only weakly, by sums over them: {}.", files, witness.note));
    report.witnesses.push_back(std::move(witness));
    return;
  }
  const double step = measured.lambda_singles->step;
  witness.value = step;
  witness.limit = max_lambda_step;
  witness.status = step <= max_lambda_step ? WitnessStatus::passed : WitnessStatus::failed;
  if (witness.status == WitnessStatus::failed) {
    witness.note = fmt::format(
        "{}: the numbers do not satisfy the CCSD Lambda equations: the next iteration would change the amplitudes of "
        "virtual orbital {}{} by {:.3g}; the Lambda amplitudes have a wrong sign, factor or order of "
        "indices or spins, are not converged, or are of another calculation (other geometry, or solved before t1 and "
        "t2).",
        files, measured.lambda_singles->a,
        integrals.reference == Reference::rhf ? ""
        : measured.lambda_singles->spin == 0  ? " of spin alpha"
                                              : " of spin beta",
        step);
  } else if (step > usual_lambda_step_of(amplitudes)) {
    report.warnings.push_back(
        fmt::format("{}: the Lambda amplitudes are not converged as usual or as stated, or some numbers are damaged: "
                    "the next iteration would change the amplitudes by up to {:.2g}.",
                    files, step));
  }
  report.witnesses.push_back(std::move(witness));
}

}
