#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/triples/problem.hpp"
#include "cxx/triples/reference_elements.hpp"
#include "cxx/triples/reference_tensors.hpp"

namespace trifuse {

/// A simple evaluation of the derivatives of E(T), with which tests compare those of all executors. As
/// ReferenceEvaluation it goes through the elements one at a time, and shares only the table of terms with the
/// executors.
///
/// A derivative has the shape of ReferenceTensors. Each of its elements is the derivative by the number that the
/// formulas read there. So dE is the sum over all elements of derivative times change, for each change of the operands
/// that has their symmetry; the derivatives themselves have no symmetry.
class ReferenceDerivatives {
 public:
  /// Reads all operands. `problem`: with one quotient, which is a shift, and with at most one left side. `tiles`: the
  /// tile space of the tasks. Passes on exceptions of the sources.
  ReferenceDerivatives(const Problem& problem, const TileSpace& tiles);

  /// Adds the derivatives of the energy of a task.
  void add(const Task& task);

  /// Returns the derivatives by the amplitudes and integrals of a side, hartree per unit of the operand. A problem with
  /// one side has them on the right. Integrals of both sides: add the derivatives of both.
  const ReferenceTensors& of(Side side) const { return side == Side::left ? left_.derivatives : right_.derivatives; }
  /// Returns the derivative by an element of a block of t2 or v2. The element also stands for its antisymmetric images,
  /// as far as the block does not contain them. `source`: of the block. `tiles`: of the block. `orbitals`: of the
  /// element.
  double of_block(const TileSource& source, TensorKind tensor, const std::array<int, 4>& tiles,
                  const std::array<std::int64_t, 4>& orbitals) const;
  /// Returns the derivatives by orbital energies, [orbital], and by omega2.
  std::span<const double> of_energies() const { return of_energies_; }
  double of_omega2() const { return of_omega2_; }

 private:
  /// The operands of a side, and derivatives of the same shape.
  struct Operands {
    ReferenceTensors numbers, derivatives;
  };
  void add_spin_orbital(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h);
  void add_adapted(const Task& task, const OrbitalTriple& p, const OrbitalTriple& h);
  /// Returns 1/x of an element.
  double inverse(const OrbitalTriple& p, const OrbitalTriple& h) const;
  /// Adds the derivatives by the orbitals of an element. `energy`: its contribution to E(T).
  void add_denominator(const OrbitalTriple& p, const OrbitalTriple& h, double energy);
  Operands& left() { return problem_.two_sided() ? left_ : right_; }

  Problem problem_;
  std::vector<DisconnectedSet> sets_;
  TileSpace tiles_;
  Operands left_, right_;  ///< `left_` is empty in a problem with one side
  std::vector<double> of_energies_;
  double of_omega2_ = 0.0;
};

}
