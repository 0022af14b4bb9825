#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse::moments {

/// What an operand set of a method with moments is made of, and how.
struct MomentSide {
  std::vector<ArrayKind> arrays;  ///< integrals that the input must have, besides t1, t2 and the Fock matrix
  std::shared_ptr<DenseInput> (*make)(const DenseInput& input, int threads, const Contract& contract);
};
/// The operands that t2 is multiplied by: moments of CCSD, see right_input().
extern const MomentSide right_moments;
/// The operands that Lambda2 is multiplied by, see left_input().
extern const MomentSide left_moments;

/// A source of one side of a method with moments. It has the orbitals of the source of bare integrals from the
/// beginning. Its blocks can be read after make().
class MomentSource final : public WrappedSource {
 public:
  /// `bare`: a source of dense arrays with integrals; must outlive this object. Throws InputError if it has no dense
  /// arrays, or if an array is absent; the sentence names all that are.
  MomentSource(const TileSource& bare, const MomentSide& side);

  /// Makes the dressed integrals. A second call does nothing. `threads`: at least 1. `contract`: computes the
  /// contractions. Throws what MomentSide::make throws.
  void make(int threads, const Contract& contract);
  /// Returns the size of the dressed integrals, bytes.
  double bytes() const;

  const TileSpace& tiles() const override { return tiles_; }
  bool concurrent_reads() const override { return true; }
  bool has_exchange_integrals() const override { return false; }

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override;

  const MomentSide& side_;
  const DenseInput& input_;
  TileSpace tiles_;
  std::unique_ptr<DenseSource> made_;  ///< null before make()
};

}
