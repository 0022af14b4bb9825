#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/options.hpp"
#include "cxx/rotation/fock_couplings.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// The orbitals of a calculation: whether they are rotated, and whether f_ov t2 enters the triples.
class ChosenOrbitals {
 public:
  /// Chooses orbitals and method, and sets up the rotation if the options ask for it or the orbitals are not canonical.
  /// `left`: may be null. Throws UsageError if the options do not fit `right`, and InputError if a needed Fock matrix
  /// is missing.
  ChosenOrbitals(const TileSource& right, const TileSource* left, const CalculationOptions& options,
                 SpinFormulation formulation);

  const Method& method() const { return method_; }
  /// Returns the amplitudes and integrals in the chosen orbitals. They can be read after rotate().
  const TileSource* right() const { return rotated_.empty() ? right_ : rotated_.front().get(); }
  const TileSource* left() const { return left_ == nullptr || rotated_.empty() ? left_ : rotated_.back().get(); }
  /// Returns the text of `Calculation::reference_note`.
  std::string note() const;
  /// Sentences about orbitals that are not canonical Hartree-Fock orbitals.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Adds the memory of the rotation to `memory`. `ranks`: number of ranks that share the rotated numbers.
  void plan_rotation(MemoryPlan& memory, int ranks) const;
  /// Rotates amplitudes and integrals if it is necessary. Collective if `communicator` is not null. Throws Interrupted
  /// soon after `*stop` becomes true; `stop` may be null.
  void rotate(Communicator* communicator, const std::atomic<bool>* stop) const;

 private:
  /// Sets the method by what the input states about f_ov t2 and by the size of f_ov.
  void choose_method();

  const TileSource* right_;
  const TileSource* left_;
  RohfOrbitals rohf_;
  FockCouplings couplings_;  ///< of the right input; zero if it has no Fock matrix or the options ask for a rotation
  Method method_ = ccsd_t;
  std::vector<std::unique_ptr<SemicanonicalSource>> rotated_;  ///< [side]; empty if there is no rotation
  std::vector<std::string> warnings_;
};

}
