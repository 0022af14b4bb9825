#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"

namespace trifuse::moments {

/// Other orbitals of an input, e.g. semicanonical ones: U[new,old] of the holes and of the particles of each spin. A
/// closed shell has those of alpha only.
struct OrbitalVectors {
  BySpin<std::vector<double>> holes, particles;
};
/// Returns orbitals. An empty function stands for those of the input.
using OrbitalsToBe = std::function<OrbitalVectors()>;

/// The arrays of MomentInputs in other orbitals, for tables of denominators. `kvvv` is left out. `vvvv_coulomb` and
/// `vvvv_exchange` are taken as they are, because a rotation needs more than these numbers.
class RotatedInputs {
 public:
  /// `inputs`: its vvvv_coulomb and vvvv_exchange are those of the other orbitals; their memory must outlive this
  /// object. `threads`: at least 1. Throws std::bad_alloc.
  RotatedInputs(const MomentInputs& inputs, const OrbitalVectors& vectors, int threads);

  const MomentInputs& inputs() const { return rotated_; }

 private:
  /// Returns an array of rank 4 with rotated indices. `u`: for each index.
  const double* rotated(const double* elements, const std::array<ArrayView, 4>& u);
  /// Returns u x w^T.
  const double* rotated(const double* x, const ArrayView& u, const ArrayView& w);

  Terms terms_;
  std::vector<Buffer> memory_;
  MomentInputs rotated_;
};

}
