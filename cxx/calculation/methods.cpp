#include "cxx/calculation/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cxx/base/error.hpp"
#include "cxx/calculation/orbitals.hpp"

namespace trifuse {

namespace {

using enum TriplesMethod;
using moments::MomentSource;

/// Methods with the same operands, which one run may compute.
enum class Family { bare, moments, lambda, gf };

Family family_of(TriplesMethod method) {
  switch (method) {
    case t:
    case reg_t:
      return Family::bare;
    case ct:
    case cr_t:
      return Family::moments;
    case two_t:
    case cr_cc23:
      return Family::lambda;
    case reg_gf_t:
      break;
  }
  return Family::gf;
}

/// Returns the family of methods of one run.
Family family_of(const std::vector<TriplesMethod>& methods) {
  const Family family = family_of(methods.front());
  if (std::any_of(methods.begin(), methods.end(), [&](TriplesMethod x) { return family_of(x) != family; })) {
    throw UsageError(
        "A run computes methods with the same operands: t and reg-t, or ct and cr-t, or 2t and cr-cc23, or reg-gf-t; "
        "ask for the others in another run.");
  }
  return family;
}

bool has_amplitudes(const TileSource* left, AmplitudeKind kind) {
  return left != nullptr && (left->info().amplitudes == kind || left->info().amplitudes == AmplitudeKind::made_up);
}

bool are_regularised(const TileSource* left, double omega2) {
  return left != nullptr && left->info().amplitudes == AmplitudeKind::regularized_ccsd &&
         std::abs(left->info().omega2 - omega2) < 1e-12;
}

/// Returns the name of a method at one omega2, hartree. `correction`: e.g. "(cT)". `left`: left amplitudes.
std::string name_at(double omega2, const std::string& of_ccsd, const std::string& correction, const TileSource* left) {
  if (are_regularised(left, omega2)) return "Reg-" + correction;
  const bool other = left != nullptr && left->info().amplitudes == AmplitudeKind::regularized_ccsd;
  const std::string name =
      other ? fmt::format("{} with left amplitudes regularised at omega2 = {}", correction, left->info().omega2)
            : of_ccsd;
  return omega2 == 0.0 ? name : "denominator-shifted " + name;
}

}

NeedsOfMethods needs_of(const std::vector<TriplesMethod>& methods) {
  switch (family_of(methods)) {
    case Family::bare:
      return {std::find(methods.begin(), methods.end(), reg_t) != methods.end(), 0, 0};
    case Family::moments:
      return {false, 1, 1};
    case Family::lambda:
      return {true, 1, 2};
    case Family::gf:
      break;
  }
  return {true, 2, 2};
}

ChosenMethods::ChosenMethods(const std::vector<TriplesMethod>& methods, const TileSource& right, const TileSource* left,
                             SpinFormulation formulation, std::shared_ptr<const OrbitalRotation> rotation)
    : methods_(methods), right_(right), left_(left), formulation_(formulation), rotation_(std::move(rotation)) {
  check(left);
  const Family family = family_of(methods_.front());
  if (right.factors() != nullptr) bare_ = std::make_unique<WithoutFactors>(right);
  if (family == Family::bare) return;
  moments::OrbitalsToBe semicanonical;
  if (rotation_ != nullptr && asks_for(cr_cc23))
    semicanonical = [this] { return vectors_of(*rotation_, right_.tiles()); };
  const DenseInput& input = bare_arrays_.emplace(moments::arrays_of(right, nullptr, semicanonical));
  right_made_ = std::make_unique<MomentSource>(right, input, moments::right_moments);
  if (asks_for(cr_t)) disconnected_ = std::make_unique<MomentSource>(right, input, moments::disconnected_triples);
  if (family == Family::lambda) left_made_ = std::make_unique<MomentSource>(right, input, moments::left_moments);
  if (asks_for(cr_cc23)) {
    moments::require_arrays(input, std::array{diagonals()});
    warn_of_degenerate_orbitals();
  }
  if (family == Family::gf) {
    of_left_.emplace(moments::arrays_of(right, left));
    left_made_ = std::make_unique<MomentSource>(right, *of_left_, moments::left_moments_of_gf);
  }
}

void ChosenMethods::check(const TileSource* left) const {
  const Family family = family_of(methods_);
  if (family == Family::lambda && !has_amplitudes(left, AmplitudeKind::lambda)) {
    const std::string found =
        left == nullptr ? ""
                        : fmt::format("; {} has those of {}", left->info().path, to_string(left->info().amplitudes));
    throw UsageError(
        fmt::format("The methods 2t and cr-cc23 need Lambda amplitudes on the left side{}. Give them (--left), for the "
                    "files of NWChem as a dump in its orbitals.",
                    found));
  }
  for (const auto& [method, name] : {std::pair{reg_t, "reg-t"}, {reg_gf_t, "reg-gf-t"}}) {
    if (!asks_for(method) || has_amplitudes(left, AmplitudeKind::regularized_ccsd)) continue;
    throw UsageError(
        fmt::format("The method {} needs regularised amplitudes on the left side; give them (--left).", name));
  }
  if (family == Family::moments && left != nullptr && left->info().amplitudes == AmplitudeKind::lambda) {
    throw UsageError("The methods ct and cr-t have no Lambda amplitudes; leave out --left, or ask for 2t or cr-cc23.");
  }
}

void ChosenMethods::warn_of_degenerate_orbitals() {
  constexpr double degenerate = 1e-6;
  const TileSpace& space = right_.tiles();
  const auto all = rotation_ != nullptr ? std::span(rotation_->energies()) : right_.orbital_energies();
  for (const OrbitalClass each : orbital_classes) {
    for (int irrep = 0; irrep < 8; ++irrep) {
      const auto [offset, size] = space.range(each, irrep);
      const auto energies = all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
      std::vector<double> sorted(energies.begin(), energies.end());
      std::sort(sorted.begin(), sorted.end());
      const auto pair =
          std::adjacent_find(sorted.begin(), sorted.end(), [](double x, double y) { return y - x < degenerate; });
      if (pair == sorted.end()) continue;
      warnings_.push_back(fmt::format(
          "{} has degenerate orbitals of one symmetry (at {:.6f} hartree); CR-CC(2,3)_C and _D depend on their choice, "
          "by up to about 5e-6 hartree. Orbitals with irreps of the point group fix it; _A does not depend on it.",
          right_.info().path, *pair));
      return;
    }
  }
}

bool ChosenMethods::asks_for(TriplesMethod method) const {
  return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
}

const TileSource* ChosenMethods::left_integrals() const {
  if (left_made_) return left_made_.get();
  return right_made_ ? &bare() : nullptr;
}

Method ChosenMethods::method(const Method& chosen) const {
  switch (family_of(methods_.front())) {
    case Family::lambda:
      return ccsd_t_with_fock;
    case Family::gf:
      return ccsd_t;
    case Family::bare:
    case Family::moments:
      break;
  }
  return chosen;
}

WantedEnergies ChosenMethods::wanted(const Method& method, const std::vector<double>& omega2) const {
  WantedEnergies result;
  const auto add = [&](const Quotient& quotient) {
    result.quotients.push_back(quotient);
    return result.quotients.size() - 1;
  };
  const Family family = family_of(methods_.front());
  for (const double w : omega2) {
    const std::size_t quotient = add(w);
    switch (family) {
      case Family::bare:
        result.energies.push_back(
            {name_of(method, right_.info(), left_ != nullptr ? &left_->info() : nullptr, w), quotient});
        break;
      case Family::moments:
        if (asks_for(ct)) result.energies.push_back({name_at(w, "CCSD(cT)", "(cT)", left_), quotient});
        if (asks_for(cr_t)) {
          Quotient with_c3 = w;
          with_c3.right = RightFactor::disconnected;
          result.energies.push_back({name_at(w, "CR-CCSD(T)", "CR-CCSD(T)", left_), quotient, add(with_c3)});
        }
        break;
      case Family::lambda:
        result.energies.push_back({name_at(w, "CCSD(2)_T = CR-CC(2,3)_A", "", nullptr), quotient});
        break;
      case Family::gf:
        result.energies.push_back({name_at(w, "", "GF(T)", left_), quotient, std::nullopt, add(Denominator::one)});
        break;
    }
  }
  if (!asks_for(cr_cc23)) return result;
  for (const auto& [name, denominator] : {std::pair{"CR-CC(2,3)_B", Denominator::one_body},
                                          {"CR-CC(2,3)_C", Denominator::two_body},
                                          {"CR-CC(2,3)_D", Denominator::three_body}}) {
    result.energies.push_back({name, add(denominator)});
  }
  return result;
}

double ChosenMethods::bytes() const {
  double bytes = 0.0;
  for (const auto& source : {right_made_.get(), left_made_.get()}) bytes += source != nullptr ? source->bytes() : 0.0;
  return bytes;
}

void ChosenMethods::make(int threads, const moments::Contract& contract) {
  if (!right_made_) return;
  const std::vector<std::string> integrals = {"oooo", "ovoo", "oovv", "ovov", "ovvv"};
  const moments::DressedInputs inputs(*bare_arrays_, integrals, threads, contract, diagonals());
  right_made_->make(inputs);
  if (disconnected_) {
    disconnected_->make(inputs);
    overlap_ = inputs.overlap();
  }
  if (denominators() != nullptr) {
    const auto tables =
        rotation_ == nullptr ? inputs.denominators() : inputs.denominators(vectors_of(*rotation_, right_.tiles()));
    tables_ = tables.sorted(formulation_);
    for (const Denominator each : {Denominator::one_body, Denominator::two_body, Denominator::three_body})
      ranges_.at(static_cast<std::size_t>(each)) = range_of_denominators(tables_, each, right_.tiles(), threads);
  }
  if (!left_made_) return;
  if (of_left_) {
    left_made_->make(moments::DressedInputs(*of_left_, integrals, threads, contract));
  } else {
    left_made_->make(inputs);
  }
}

}
