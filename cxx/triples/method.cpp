#include "cxx/triples/method.hpp"

#include <fmt/format.h>

#include <cmath>

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

void add_energy_sums(SpinFormulation formulation, SpinCase spin_case, std::span<const double> sums,
                     TaskEnergy& energy) {
  const bool same_spin = spin_case == SpinCase::aaa || spin_case == SpinCase::bbb;
  const Energies all = Energies::of_values(sums.data());
  if (formulation == SpinFormulation::spin_adapted) {
    const Energies same = Energies::of_values(sums.data() + Energies::count);
    energy.same += same;
    energy.mixed += all - same;
  } else {
    (same_spin ? energy.same : energy.mixed) += all;
  }
}

std::string name_of(const Method& method, const SourceInfo& right, const SourceInfo* left, double omega2) {
  const auto shifted = [&](const std::string& name) { return omega2 == 0.0 ? name : "denominator-shifted " + name; };
  const std::string name = method.name();
  const std::string of_right =
      right.amplitudes == AmplitudeKind::ccsd ? "" : " of " + to_string(right.amplitudes) + " amplitudes";
  if (left == nullptr) return shifted(name) + of_right;
  switch (left->amplitudes) {
    case AmplitudeKind::lambda:
      return shifted("Lambda-" + name) + of_right;
    case AmplitudeKind::regularized_ccsd:
      if (std::abs(left->omega2 - omega2) < 1e-12) return "Reg-" + name + of_right;
      return shifted(fmt::format("two-sided {} with left amplitudes regularised at omega2 = {}", method.correction(),
                                 left->omega2)) +
             of_right;
    case AmplitudeKind::ccsd:
    case AmplitudeKind::made_up:
      break;
  }
  return shifted("two-sided " + name) + of_right;
}

std::string journal_text(const Method& method) {
  // Journals of these two methods are older than the description of methods. Their texts must not change.
  const auto is = [&](const Method& other) {
    return std::equal(method.sets().begin(), method.sets().end(), other.sets().begin(), other.sets().end());
  };
  if (is(ccsd_t)) return "fock in singles false";
  if (is(ccsd_t_with_fock)) return "fock in singles true";
  std::string text = "disconnected";
  for (const DisconnectedSet& set : method.sets()) {
    text += fmt::format(" {} {} {}", set.weight, set.ov == OvTensor::t1 ? "t1" : "f_ov",
                        set.vvoo == VvooTensor::v2 ? "v2" : "t2");
  }
  return text;
}

std::string journal_text(const Quotient& quotient) {
  return fmt::format("; quotient {} {}{}", static_cast<int>(quotient.denominator), static_cast<int>(quotient.right),
                     quotient.left == Side::left ? "" : " of the second left side");
}

}
