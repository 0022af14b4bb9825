#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse::moments {

/// The dense arrays of an input, from which operands are made, in memory. Arrays of a caller in C order are not copied.
class MomentArrays {
 public:
  /// `closed_shell`: the arrays have the names of a restricted reference. Elements in the memory of a caller must
  /// remain valid; `arrays` itself need not.
  ///
  /// Arrays that are absent have null pointers: t1, t2 and Fock matrices must be present. Throws InputError if one of
  /// these is absent, if integrals of equal spins are plain and others are antisymmetrised, or if an array cannot be
  /// read.
  MomentArrays(const DenseArrays& arrays, bool closed_shell);

  const MomentInputs& inputs() const { return inputs_; }

 private:
  /// Returns the first element; null if there is no such array. `required`: throws instead.
  const double* first(const DenseArrays& arrays, const std::string& name, bool required = false);
  const double* of_equal_spins(const DenseArrays& arrays, const std::string& name);
  void read_spin(const DenseArrays& arrays, Spin s);
  void read_spins(const DenseArrays& arrays, Spin s, Spin t);

  std::vector<std::shared_ptr<const DenseArray>> opened_;
  std::vector<Buffer> memory_;
  std::string plain_, antisymmetrised_;  ///< names of the last such arrays of equal spins
  MomentInputs inputs_;
};

}
