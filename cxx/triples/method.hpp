#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>

#include "cxx/triples/quotient.hpp"
#include "cxx/triples/task.hpp"

#pragma GCC visibility push(default)

/// The description of a triples method: what the executors sum, and how journals and reports name it. Executors on CPU
/// and GPU, the reference evaluation, the panels, the journal and the report read this description; none of them knows
/// a method by its name.
namespace trifuse {

struct SourceInfo;

/// Returns the number of targets of a task for one side: 1 (D), or 6 (W of each assignment, see contraction_list.hpp).
constexpr int targets_per_side(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted ? 6 : 1;
}

/// Returns the number of terms of the disconnected triples of a task for one set. Each term has its own vvoo block.
constexpr int disconnected_terms(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted ? 18 : 9;
}

/// The ov tensor [p,h] of a disconnected term: t1 of the left amplitudes, or f_ov of the Fock matrix, hartree.
enum class OvTensor : std::uint8_t { t1, f_ov };
/// The vvoo tensor [p',p'',h',h''] of a disconnected term: integrals v2, hartree, or t2 of the left amplitudes.
enum class VvooTensor : std::uint8_t { v2, t2 };

/// One set of tensors of the disconnected triples. The set adds
///
///     weight * sum over the terms of (sign * ov[p,h] * vvoo[p',p'',h',h''])
///
/// to S. The terms and their signs are the singles in terms.hpp.
struct DisconnectedSet {
  OvTensor ov;
  VvooTensor vvoo;
  double weight = 1.0;
  bool operator==(const DisconnectedSet&) const = default;
};

/// The largest number of sets of a method, and of a problem: those of S of all left sides, and that of C3.
inline constexpr std::size_t max_disconnected_sets = 2;
inline constexpr int max_sets = max_left_sides * static_cast<int>(max_disconnected_sets) + 1;

/// Returns the number of sums of a task for each omega2. The sums are the values of Energies, all spin cases together.
/// In the spin-adapted formulation the parts with three equal spins follow in the same order.
constexpr int energy_sums(SpinFormulation formulation) {
  const auto energies = static_cast<int>(Energies::count);
  return formulation == SpinFormulation::spin_adapted ? 2 * energies : energies;
}

/// Adds the sums of a task to its energies. `spin_case`: the spin case of the task. `sums`:
/// sums[energy_sums(formulation)], hartree, already multiplied by the weight of the task.
void add_energy_sums(SpinFormulation formulation, SpinCase spin_case, std::span<const double> sums, TaskEnergy& energy);

/// A triples method. It is a value: each problem contains a copy.
class Method {
 public:
  /// `name`: name of the method with CCSD amplitudes on both sides. `correction`: name of the correction alone. Both
  /// must be string literals. `sets`: 1 to `max_disconnected_sets` sets; another number throws std::logic_error.
  constexpr Method(const char* name, const char* correction, std::initializer_list<DisconnectedSet> sets)
      : name_(name), correction_(correction), set_count_(sets.size()) {
    if (sets.size() < 1 || sets.size() > max_disconnected_sets) {
      throw std::logic_error("A triples method has one or two disconnected sets.");
    }
    std::copy(sets.begin(), sets.end(), sets_.begin());
  }

  constexpr const char* name() const { return name_; }
  constexpr const char* correction() const { return correction_; }
  /// Returns the sets whose contributions make up S.
  constexpr std::span<const DisconnectedSet> sets() const { return {sets_.data(), set_count_}; }
  /// Returns true if a set has f_ov, so that the Fock matrix is needed.
  constexpr bool needs_fock() const {
    return std::any_of(sets().begin(), sets().end(), [](const DisconnectedSet& x) { return x.ov == OvTensor::f_ov; });
  }

 private:
  const char* name_;
  const char* correction_;
  std::array<DisconnectedSet, max_disconnected_sets> sets_{};
  std::size_t set_count_;
};

/// The method (T): S = t1 v2.
inline constexpr Method ccsd_t{"CCSD(T)", "(T)", {{OvTensor::t1, VvooTensor::v2}}};
/// The method (T) with S = t1 v2 + f_ov t2. The standard (T) has the second term if the reference is semicanonical ROHF
/// or if the orbitals are not fully converged.
inline constexpr Method ccsd_t_with_fock{
    "CCSD(T)", "(T)", {{OvTensor::t1, VvooTensor::v2}, {OvTensor::f_ov, VvooTensor::t2}}};

/// Returns the name of a method with the given amplitudes at one omega2, hartree, e.g. "Lambda-CCSD(T)". `left`: null
/// if there is one set of amplitudes.
std::string name_of(const Method& method, const SourceInfo& right, const SourceInfo* left, double omega2);

/// Returns a text that is different for methods with different energies, and the same in all versions of Trifuse. It is
/// part of the fingerprint of journals.
std::string journal_text(const Method& method);
/// Returns the same for a quotient, without its omega2.
std::string journal_text(const Quotient& quotient);

}

#pragma GCC visibility pop
