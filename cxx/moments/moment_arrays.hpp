#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"

namespace trifuse::moments {

/// Opens an array. Throws InputError if it is absent or has another shape.
std::shared_ptr<const DenseArray> open_with_shape(const DenseArrays& arrays, const std::string& name,
                                                  const std::vector<std::int64_t>& shape);

/// Returns the elements of an array if they are in memory in C order without gaps, else null.
const double* in_place(const DenseArray& array);

/// The dense arrays of an input, from which operands are made, in memory. Arrays of a caller in C order are not copied.
class MomentArrays {
 public:
  /// `header`: of the same input. `integrals`: names without spins, e.g. "ovvv". Elements in the memory of a caller
  /// must remain valid; `arrays` itself need not.
  ///
  /// Reads also t1, t2, the Fock matrices, and the array `diagonals` if it is there; never kvvv. Throws InputError if
  /// an array is absent, unless it is empty, has a wrong shape or cannot be read, or if some integrals of equal spins
  /// are antisymmetrised and others are not.
  MomentArrays(const DenseArrays& arrays, const DenseHeader& header, const std::vector<std::string>& integrals,
               ArrayKind diagonals = ArrayKind::vvvv_diag);

  const MomentInputs& inputs() const { return inputs_; }

 private:
  /// An input that is being read.
  struct Input {
    const DenseArrays& arrays;
    const DenseHeader& header;
    ArrayKind diagonals;
  };
  /// Returns the first element; null if there are no elements.
  const double* first(const Input& input, const std::string& name, const std::vector<std::int64_t>& shape);
  /// Returns the same of integrals. Those of two equal spins may be antisymmetrised.
  const double* integrals_of(const Input& input, const ArraySpec& spec);
  void read_spin(const Input& input, Spin s);
  void read_spins(const Input& input, const std::vector<std::string>& integrals, Spin s, Spin t);

  std::vector<std::shared_ptr<const DenseArray>> opened_;
  std::vector<Buffer> memory_;
  std::string plain_, antisymmetrised_;  ///< names of the last such arrays of equal spins
  MomentInputs inputs_;
};

}
