#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse::moments {

/// Returns the end of the names of integrals with two spins, e.g. "_aabb".
std::string letters_of_pairs(Spin s, Spin t);

/// The dense arrays of an input, from which operands are made, in memory. Arrays of a caller in C order are not copied.
class MomentArrays {
 public:
  /// `closed_shell`: the arrays have the names of a restricted reference. `integrals`: names without spins of those
  /// that are needed, e.g. "ovvv". Elements in the memory of a caller must remain valid; `arrays` itself need not.
  ///
  /// Reads also t1, t2, the Fock matrices, and vvvv_diag if it is there; never kvvv. Throws InputError if an array is
  /// absent or cannot be read, or if some integrals of equal spins are antisymmetrised and others are not.
  MomentArrays(const DenseArrays& arrays, bool closed_shell, const std::vector<std::string>& integrals);

  const MomentInputs& inputs() const { return inputs_; }

 private:
  const double* first(const DenseArrays& arrays, const std::string& name);
  const double* of_equal_spins(const DenseArrays& arrays, const std::string& name);
  void read_spin(const DenseArrays& arrays, Spin s);
  void read_spins(const DenseArrays& arrays, const std::vector<std::string>& integrals, Spin s, Spin t);

  std::vector<std::shared_ptr<const DenseArray>> opened_;
  std::vector<Buffer> memory_;
  std::string plain_, antisymmetrised_;  ///< names of the last such arrays of equal spins
  MomentInputs inputs_;
};

}
