#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cxx/moments/dressed_input.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/wrapped_source.hpp"

namespace trifuse::moments {

/// Returns the dense arrays of a source. If it has factors, the result has arrays that are made of them instead, see
/// with_products_of_factors(). Of a source that has all blocks the arrays are those of arrays_of_blocks(). The source
/// must outlive the result. Throws InputError if it has neither.
///
/// `amplitudes`: a source whose amplitudes replace those of `source`, see with_amplitudes(); null: none.
/// `semicanonical`: orbitals of vvvv_diag_semicanonical, which is made like vvvv_diag; empty: it is not made.
DenseInput arrays_of(const TileSource& source, const TileSource* amplitudes = nullptr,
                     const OrbitalsToBe& semicanonical = {});
/// Throws InputError if an array of these kinds, or the Fock matrix, is absent; the sentence names all that are.
void require_arrays(const DenseInput& input, std::span<const ArrayKind> kinds);

/// What an operand set of a method with moments is made of, and how.
struct MomentSide {
  std::vector<ArrayKind> integrals;  ///< integrals that the input must have, besides t1, t2 and the Fock matrix
  std::shared_ptr<DenseInput> (DressedInputs::*make)() const;
};
extern const MomentSide right_moments;         ///< DressedInputs::right()
extern const MomentSide left_moments;          ///< DressedInputs::left()
extern const MomentSide disconnected_triples;  ///< DressedInputs::disconnected()
extern const MomentSide left_moments_of_gf;    ///< DressedInputs::left_of_gf()

/// A source of one side of a method with moments. It has the orbitals of the source of bare integrals from the
/// beginning. Its blocks can be read after make().
class MomentSource final : public WrappedSource, public OfDenseInput {
 public:
  /// `bare`: a source of `input`, or one with the same orbitals; both must outlive this object. Throws InputError as
  /// require_arrays().
  MomentSource(const TileSource& bare, const DenseInput& input, const MomentSide& side);

  /// Makes the dressed integrals of `inputs`, which are made of the input. A second call does nothing.
  void make(const DressedInputs& inputs);
  /// Returns the size of the dressed integrals, bytes.
  double bytes() const { return bytes_; }
  /// Returns the arrays besides those of source() of which operands and tables are made. Arrays that are absent
  /// although not needed are left out.
  std::vector<std::shared_ptr<const DenseArray>> other_arrays() const;

  /// The dressed arrays; before make() the bare ones.
  const DenseInput& input() const override { return made_ != nullptr ? made_->input() : bare_; }
  const TileSpace& tiles() const override { return tiles_; }
  bool has_fock() const override { return true; }
  bool has_integrals() const override { return true; }
  bool concurrent_reads() const override { return true; }
  bool has_exchange_integrals() const override { return false; }
  bool has_all_integrals() const override { return false; }

 private:
  void read(TensorKind tensor, const std::array<int, 4>& tiles, std::span<double> block) const override;

  const MomentSide& side_;
  const DenseInput& bare_;
  double bytes_;
  TileSpace tiles_;
  std::unique_ptr<DenseSource> made_;  ///< null before make()
};

}
