#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "cxx/calculation/options.hpp"
#include "cxx/moments/rotated_inputs.hpp"
#include "cxx/rotation/fock_couplings.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "cxx/rotation/semicanonical.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Returns the vectors of a rotation in the order of the arrays of a dump. `tiles`: those of the source whose Fock
/// matrix defines the rotation.
moments::OrbitalVectors vectors_of(const OrbitalRotation& rotation, const TileSpace& tiles);

/// The orbitals of a calculation: whether they are rotated, and whether f_ov t2 enters the triples.
class ChosenOrbitals {
 public:
  /// Chooses orbitals and method. `right`: amplitudes, integrals and the Fock matrix. Throws UsageError if the options
  /// do not fit `right`, and InputError if a needed Fock matrix is missing.
  ChosenOrbitals(const TileSource& right, const CalculationOptions& options, SpinFormulation formulation);

  const Method& method() const { return method_; }
  /// Returns true if the orbitals are not those of the input.
  bool rotates() const { return rotation_ != nullptr; }
  /// Returns the rotation, on all ranks that of the first one after agree(); null if there is none.
  std::shared_ptr<const OrbitalRotation> rotation() const { return rotation_; }
  /// Returns a source of a side in the chosen orbitals: `source` itself, or a rotated one, which can be read after
  /// rotate(). `source`: may be null; must outlive this object.
  const TileSource* in_orbitals(const TileSource* source);
  /// Returns the text of `Calculation::reference_note`.
  std::string note() const;
  /// Sentences about orbitals that are not canonical Hartree-Fock orbitals.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Adds the memory of the rotation to `memory`. `ranks`: number of ranks that share the rotated numbers.
  void plan_rotation(MemoryPlan& memory, int ranks) const;
  /// Gives all ranks the rotation of the first one. Collective if `communicator` is not null.
  void agree(Communicator* communicator) const;
  /// Rotates amplitudes and integrals if it is necessary. Collective if `communicator` is not null. Throws Interrupted
  /// soon after `*stop` becomes true; `stop` may be null.
  void rotate(Communicator* communicator, const std::atomic<bool>* stop) const;

 private:
  /// Sets the method by what the input states about f_ov t2 and by the size of f_ov. E(T) has a derivative by an f_ov
  /// that is zero.
  void choose_method();

  const TileSource* right_;
  RohfOrbitals rohf_;
  bool has_derivatives_;
  bool opposite_spins_;      ///< see SemicanonicalSource
  FockCouplings couplings_;  ///< of the right input; zero if it has no Fock matrix or the options ask for a rotation
  Method method_ = ccsd_t;
  std::shared_ptr<OrbitalRotation> rotation_;                  ///< null if there is no rotation
  std::vector<std::unique_ptr<SemicanonicalSource>> rotated_;  ///< empty if there is no rotation
  std::vector<std::string> warnings_;
};

}
