#include "tce_tiles/checks/doubles_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "tce_tiles/checks/doubles_equation.hpp"
#include "tce_tiles/checks/make_witness.hpp"
#include "tce_tiles/checks/small_operations.hpp"

namespace trifuse {
namespace {

/// Steps of t2 (see DoublesResidual). Correct inputs have at most 0.11 times the norm with which their program stopped.
/// In water a wrong sign of kvvv, the smallest of the arrays, gives 4.9e-5, and a factor of 1.0001 2.3e-9.
constexpr double max_doubles_step = 1e-4, doubles_steps_per_convergence = 5.0, rounding_doubles_step = 1e-10;

class DoublesCheck final : public SourceCheck {
 public:
  DoublesCheck(std::unique_ptr<SourceCheck> check, const DenseInput& input, const DenseCheck& share)
      : check_(std::move(check)), input_(input), share_(share), reason_(no_doubles_equation(input)) {}

  int stages() const override { return check_->stages() + (reason_.empty() ? 1 : 0); }
  void read_together(int stage, Communicator& communicator) override {
    if (stage < check_->stages()) check_->read_together(stage, communicator);
  }
  std::vector<double> run(int stage) override {
    if (stage < check_->stages()) return check_->run(stage);
    if (share_.part != 0) return std::vector<double>(6, 0.0);
    const DoublesResidual found = doubles_residual(input_, most_threads(share_), share_.stop);
    return {found.step,
            static_cast<double>(found.i),
            static_cast<double>(found.j),
            static_cast<double>(found.a),
            static_cast<double>(found.b),
            static_cast<double>(found.array)};
  }
  void accept(int stage, std::span<const double> sums) override {
    if (stage < check_->stages()) return check_->accept(stage, sums);
    const auto orbital = [&](std::size_t n) { return static_cast<std::int64_t>(sums[n]); };
    residual_ = {sums[0], orbital(1), orbital(2), orbital(3), orbital(4), static_cast<int>(sums[5])};
  }
  Measurements measurements() const override {
    Measurements measured = check_->measurements();
    measured.doubles_equation = residual_;
    measured.no_doubles_reason = reason_;
    return measured;
  }

 private:
  const std::unique_ptr<SourceCheck> check_;
  const DenseInput& input_;
  const DenseCheck share_;
  const std::string reason_;
  std::optional<DoublesResidual> residual_;
};

}

std::unique_ptr<SourceCheck> with_doubles_equation(std::unique_ptr<SourceCheck> check, const DenseInput& input,
                                                   const DenseCheck& share) {
  const AmplitudeKind kind = input.header.info.amplitudes;
  const bool obeys = kind == AmplitudeKind::ccsd || kind == AmplitudeKind::regularized_ccsd;
  if (!obeys || !input.factors.empty() || present_for_moments(*input.arrays, input.header).empty()) return check;
  return std::make_unique<DoublesCheck>(std::move(check), input, share);
}

void add_doubles_witness(const Measurements& measured, const SourceInfo& info, CheckReport& report) {
  const std::string name = "doubles equation";
  if (!measured.no_doubles_reason.empty()) {
    report.witnesses.push_back(unknown_witness(name, measured.no_doubles_reason));
  }
  if (!measured.doubles_equation) return;
  const DoublesResidual& found = *measured.doubles_equation;
  constexpr std::array spins = {"", "_aa", "_ab", "_bb"};
  const double limit = info.convergence ? std::clamp(doubles_steps_per_convergence * *info.convergence,
                                                     rounding_doubles_step, max_doubles_step)
                                        : max_doubles_step;
  report.witnesses.push_back(failed_if(
      !(found.step <= limit), name, found.step, limit,
      fmt::format(
          "{}: the numbers do not satisfy the CCSD equation of the double excitations: the next iteration would "
          "change t2{}[{},{},{},{}] by {:.3g}, but at most {:.2g} is possible; oooo, kvvv, ladder or another array "
          "has a wrong sign, factor or order of indices, or was made for another calculation, or the "
          "amplitudes are not converged as stated.",
          info.path, spins[at(found.array)], found.i, found.j, found.a, found.b, found.step, limit)));
}

}
