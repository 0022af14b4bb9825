#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cxx/moments/denominator_tables.hpp"
#include "cxx/moments/moment_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/rotated_inputs.hpp"
#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse::moments {

class DressedArrays;

/// Inputs whose integrals are dressed with amplitudes, made of one input. Sources of them take the place of sources of
/// the bare ones. A result has the other arrays of the input, too, which are read when they are used.
///
/// All functions throw InputError if an array is absent or cannot be read, std::bad_alloc, and what contractions throw.
class DressedInputs {
 public:
  /// Reads t1, t2, the Fock matrix, the array `diagonals` if it is there, and `integrals`: names without spins, e.g.
  /// "ovvv". `input`: must outlive this object. `threads`: at least 1. `contract`: computes the contractions.
  DressedInputs(const DenseInput& input, const std::vector<std::string>& integrals, int threads, Contract contract,
                ArrayKind diagonals = ArrayKind::vvvv_diag);

  /// The integrals of the right side, ovvv and ovoo, which t2 is multiplied by: moments of CCSD. Needs oooo, ovoo,
  /// oovv, ovov, ovvv, and kvvv, which is read to the place of the new ovvv.
  std::shared_ptr<DenseInput> right() const;
  /// The integrals of the left side, which Lambda2 is multiplied by: ovvv, ovoo, and the occupied and virtual part of
  /// the Fock matrix. Needs ovoo, ovov and ovvv.
  std::shared_ptr<DenseInput> left() const;
  /// c2 in the place of t2. The disconnected triples t1 c2 of a source of it are C3, the triples of exp(T1 + T2), see
  /// Problem::disconnected.
  std::shared_ptr<DenseInput> disconnected() const;
  /// The integrals of right(), and c2 in the place of ovov: the left side of Reg-GF(T), whose disconnected triples
  /// t1 v2 are C3.
  std::shared_ptr<DenseInput> left_of_gf() const;

  /// The tables of denominators. Needs oooo, ovoo, oovv, ovov, ovvv and vvvv_diag.
  DenominatorTables denominators() const { return DenominatorTables(operands_); }
  /// The same in semicanonical orbitals. Needs vvvv_diag_semicanonical as `diagonals`.
  DenominatorTables denominators(const OrbitalVectors& semicanonical) const;
  /// See MomentOperands::overlap().
  double overlap() const { return operands_.overlap(); }

 private:
  std::shared_ptr<DressedArrays> with_moments() const;

  const DenseInput& input_;
  MomentArrays bare_;
  int threads_;
  Contract contract_;
  MomentOperands operands_;
};

/// Returns `input` with the amplitudes of another input, and with its kvvv. Both inputs must outlive the result.
DenseInput with_amplitudes(const DenseInput& input, const DenseInput& amplitudes);

}
