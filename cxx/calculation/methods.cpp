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

/// Methods with the same sides. `moments` has the left side of `bare`; `lambda` and `gf` have left sides with moments
/// and the right side of `moments`.
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

/// The families of the methods of one run.
class Families {
 public:
  explicit Families(const std::vector<TriplesMethod>& methods) {
    for (const TriplesMethod method : methods) has_[static_cast<std::size_t>(family_of(method))] = true;
  }
  bool has(Family family) const { return has_[static_cast<std::size_t>(family)]; }
  /// Returns true if the moments of the right side are needed, or those of a left side.
  bool right_moments() const { return has(Family::moments) || left_moments(); }
  bool left_moments() const { return has(Family::lambda) || has(Family::gf); }
  /// Returns true if there are a left side with bare integrals and one with moments.
  bool two_left_sides() const { return has(Family::moments) && left_moments(); }

 private:
  std::array<bool, 4> has_{};
};

/// Returns the families of methods of one run. Throws UsageError if one run cannot compute them.
Families families_of(const std::vector<TriplesMethod>& methods) {
  const Families families(methods);
  const bool reg_t_with_others =
      std::find(methods.begin(), methods.end(), reg_t) != methods.end() && families.right_moments();
  if ((families.has(Family::bare) && families.left_moments()) || reg_t_with_others) {
    throw UsageError(
        "One run computes t with reg-t, or t with ct and cr-t, but not reg-t with these, and neither of them with 2t, "
        "cr-cc23 or reg-gf-t, because they share no side; ask for them in another run.");
  }
  if (families.has(Family::lambda) && families.has(Family::gf)) {
    throw UsageError(
        "The methods 2t and cr-cc23 need Lambda amplitudes on the left side, reg-gf-t needs regularised ones; ask for "
        "them in two runs, one of which may compute ct and cr-t, too.");
  }
  return families;
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

/// Appends a quotient and returns its number.
std::size_t add_quotient(const Quotient& quotient, WantedEnergies& wanted) {
  wanted.quotients.push_back(quotient);
  return wanted.quotients.size() - 1;
}

}

NeedsOfMethods needs_of(const std::vector<TriplesMethod>& methods) {
  const Families families = families_of(methods);
  const bool left_amplitudes =
      families.left_moments() || std::find(methods.begin(), methods.end(), reg_t) != methods.end();
  const int moments = (families.right_moments() ? 1 : 0) + (families.has(Family::gf) ? 1 : 0);
  const int dressed_sides = (families.right_moments() ? 1 : 0) + (families.left_moments() ? 1 : 0);
  return {left_amplitudes, moments, dressed_sides, families.two_left_sides()};
}

ChosenMethods::ChosenMethods(const std::vector<TriplesMethod>& methods, const TileSource& right, const TileSource* left,
                             SpinFormulation formulation, std::shared_ptr<const OrbitalRotation> rotation)
    : methods_(methods), right_(right), left_(left), formulation_(formulation), rotation_(std::move(rotation)) {
  check(left);
  const Families families(methods_);
  if (right.factors() != nullptr) bare_ = std::make_unique<WithoutFactors>(right);
  if (!families.right_moments()) return;
  moments::OrbitalsToBe semicanonical;
  if (rotation_ != nullptr && asks_for(cr_cc23))
    semicanonical = [this] { return vectors_of(*rotation_, right_.tiles()); };
  const DenseInput& input = bare_arrays_.emplace(moments::arrays_of(right, nullptr, semicanonical));
  right_made_ = std::make_unique<MomentSource>(right, input, moments::right_moments);
  if (asks_for(cr_t)) disconnected_ = std::make_unique<MomentSource>(right, input, moments::disconnected_triples);
  if (families.has(Family::lambda)) left_made_ = std::make_unique<MomentSource>(right, input, moments::left_moments);
  if (asks_for(cr_cc23)) {
    moments::require_arrays(input, std::array{diagonals()});
    warn_of_degenerate_orbitals();
  }
  if (families.has(Family::gf)) {
    of_left_.emplace(moments::arrays_of(right, left));
    left_made_ = std::make_unique<MomentSource>(right, *of_left_, moments::left_moments_of_gf);
  }
}

void ChosenMethods::check(const TileSource* left) const {
  const Families families = families_of(methods_);
  if (families.has(Family::lambda) && !has_amplitudes(left, AmplitudeKind::lambda)) {
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
  if (families.has(Family::bare) && families.has(Family::moments) && left != nullptr) {
    throw UsageError(
        "With amplitudes on the left side, t has another right side than ct and cr-t; leave out --left, or ask for t "
        "in "
        "another run.");
  }
  if (families.has(Family::moments) && !families.left_moments() && left != nullptr &&
      left->info().amplitudes == AmplitudeKind::lambda) {
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

LeftSide ChosenMethods::made_left() const {
  return {left_, left_made_.get(), Families(methods_).has(Family::lambda) ? ccsd_t_with_fock : ccsd_t};
}

LeftSide ChosenMethods::left(const Method& chosen) const {
  const Families families(methods_);
  if (left_made_ && !families.two_left_sides()) return made_left();
  if (!right_made_) return {left_, nullptr, chosen};
  // Beside methods with Lambda, (cT) has the amplitudes of the right side.
  return {families.has(Family::lambda) ? nullptr : left_, &bare(), chosen};
}

std::optional<LeftSide> ChosenMethods::second_left() const {
  return Families(methods_).two_left_sides() ? std::optional(made_left()) : std::nullopt;
}

void ChosenMethods::add_of_first_left(const Method& method, const Quotient& of_omega2, WantedEnergies& wanted) const {
  const double w = of_omega2.omega2;
  const LeftSide side = left(method);
  const bool moments = right_made_ != nullptr;
  if (Families(methods_).has(Family::bare)) {
    Quotient quotient = of_omega2;
    if (moments) quotient.right = RightFactor::left;
    const SourceInfo* const of_left = side.amplitudes != nullptr ? &side.amplitudes->info() : nullptr;
    wanted.energies.push_back({name_of(method, right_.info(), of_left, w), add_quotient(quotient, wanted)});
  }
  if (!Families(methods_).has(Family::moments)) return;
  const std::size_t quotient = add_quotient(of_omega2, wanted);
  if (asks_for(ct)) wanted.energies.push_back({name_at(w, "CCSD(cT)", "(cT)", side.amplitudes), quotient});
  if (!asks_for(cr_t)) return;
  Quotient with_c3 = of_omega2;
  with_c3.right = RightFactor::disconnected;
  wanted.energies.push_back(
      {name_at(w, "CR-CCSD(T)", "CR-CCSD(T)", side.amplitudes), quotient, add_quotient(with_c3, wanted)});
}

WantedEnergies ChosenMethods::wanted(const Method& method, const std::vector<double>& omega2) const {
  WantedEnergies result;
  const Families families(methods_);
  const Side made = families.two_left_sides() ? Side::second_left : Side::left;
  for (const double w : omega2) {
    add_of_first_left(method, w, result);
    Quotient of_made = w;
    of_made.left = made;
    if (families.has(Family::lambda))
      result.energies.push_back({name_at(w, "CCSD(2)_T = CR-CC(2,3)_A", "", nullptr), add_quotient(of_made, result)});
    if (families.has(Family::gf)) {
      const std::size_t quotient = add_quotient(of_made, result),
                        numerators = add_quotient({Denominator::one, RightFactor::connected, made}, result);
      result.energies.push_back({name_at(w, "", "GF(T)", left_), quotient, std::nullopt, numerators});
    }
  }
  if (!asks_for(cr_cc23)) return result;
  for (const auto& [name, denominator] : {std::pair{"CR-CC(2,3)_B", Denominator::one_body},
                                          {"CR-CC(2,3)_C", Denominator::two_body},
                                          {"CR-CC(2,3)_D", Denominator::three_body}}) {
    result.energies.push_back({name, add_quotient({denominator, RightFactor::connected, made}, result)});
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
