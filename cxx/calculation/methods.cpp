#include "cxx/calculation/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

using enum TriplesMethod;

bool has_left_amplitudes(AmplitudeKind kind, const TileSource* left) {
  return left != nullptr && (left->info().amplitudes == kind || left->info().amplitudes == AmplitudeKind::made_up);
}

/// Returns the name of a method with moments on the right and t2 on the left.
std::string name_of_moments(const std::string& name, const SourceInfo* left, double omega2) {
  const bool regularised = left != nullptr && left->amplitudes == AmplitudeKind::regularized_ccsd;
  if (regularised && std::abs(left->omega2 - omega2) < 1e-12) return "Reg-" + name;
  const std::string of_left =
      regularised ? fmt::format("{} with left amplitudes regularised at omega2 = {}", name, left->omega2)
                  : "CCSD" + name;
  return omega2 == 0.0 ? of_left : "denominator-shifted " + of_left;
}

}

ChosenMethods::ChosenMethods(const std::vector<TriplesMethod>& methods, const TileSource& right, const TileSource* left)
    : methods_(methods), right_(right), left_(left) {
  const bool of_lambda = asks_for(two_t) || asks_for(cr_cc23), of_t2 = asks_for(ct) || asks_for(cr_t);
  const bool bare = asks_for(t) || asks_for(reg_t);
  if (static_cast<int>(of_lambda) + static_cast<int>(of_t2) + static_cast<int>(bare) > 1) {
    throw UsageError(
        "A run computes methods with the same operands: t and reg-t, or ct and cr-t, or 2t and cr-cc23; ask for the "
        "others in another run.");
  }
  if (of_lambda && !has_left_amplitudes(AmplitudeKind::lambda, left)) {
    throw UsageError("The methods 2t and cr-cc23 need Lambda amplitudes on the left side; give them (--left).");
  }
  if (asks_for(reg_t) && !has_left_amplitudes(AmplitudeKind::regularized_ccsd, left)) {
    throw UsageError("The method reg-t needs regularised amplitudes on the left side; give them (--left).");
  }
  if (of_t2 && has_left_amplitudes(AmplitudeKind::lambda, left) && left->info().amplitudes == AmplitudeKind::lambda) {
    throw UsageError("The methods ct and cr-t have no Lambda amplitudes; leave out --left, or ask for 2t or cr-cc23.");
  }
  if (bare) return;
  right_made_ = std::make_unique<moments::MomentSource>(right, moments::right_moments);
  if (of_lambda) left_made_ = std::make_unique<moments::MomentSource>(right, moments::left_moments);
}

bool ChosenMethods::asks_for(TriplesMethod method) const {
  return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
}

const TileSource* ChosenMethods::left_integrals() const {
  if (left_made_) return left_made_.get();
  return right_made_ ? &right_ : nullptr;
}

WantedEnergies ChosenMethods::wanted(const Method& method, const SourceInfo& right, const SourceInfo* left,
                                     const std::vector<double>& omega2) const {
  WantedEnergies result;
  for (const double w : omega2) {
    const std::string name = left_made_    ? "CCSD(2)_T = CR-CC(2,3)_A"
                             : right_made_ ? name_of_moments("(cT)", left, w)
                                           : name_of(method, right, left, w);
    const bool shifted = left_made_ && w != 0.0;
    result.energies.push_back({shifted ? "denominator-shifted " + name : name, result.quotients.size()});
    result.quotients.emplace_back(w);
  }
  return result;
}

double ChosenMethods::bytes() const {
  return (right_made_ ? right_made_->bytes() : 0.0) + (left_made_ ? left_made_->bytes() : 0.0);
}

void ChosenMethods::make(int threads, const moments::Contract& contract) const {
  if (right_made_) right_made_->make(threads, contract);
  if (left_made_) left_made_->make(threads, contract);
}

}
