#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "cxx/moments/dressed_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dense/dense_source.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// Fragments: projectors P on occupied orbitals, and operands of the energy Tr(P M) of each.
///
///     M[i,i'] = 1/3 sum_jkabc ((D + S)/x)[ijk,abc] Y[i'jk,abc]        Tr M = E(T)
///
/// So 3 Tr(P M) is the two-sided energy whose right triples are those of the input, changed by P on each of their three
/// holes in turn (product rule). The holes of D are external; the contracted hole is none of them. Two right sides add
/// up to this: one has t2 with P on both holes. In the other one the integrals have P on their holes, with the sign -
/// on the contracted hole l of <l p||h'h''>. This cancels P on l in the first one.
namespace trifuse::moments {

/// The two right sides of a fragment.
enum class FragmentSide : std::uint8_t { amplitudes, integrals };
inline constexpr std::array fragment_sides = {FragmentSide::amplitudes, FragmentSide::integrals};

/// The fragments of an input.
class Fragments {
 public:
  /// Reads the projectors of a source: the array `fragments` [n,o,o], or `fragments_a` and `fragments_b` of two spins.
  /// Without these, there are no fragments. `source`: must outlive this object. Throws InputError if a projector has
  /// another shape, is not finite or not symmetric, or if one spin has none.
  explicit Fragments(const TileSource& source);

  std::size_t count() const { return count_; }
  /// Returns numbers that differ for different fragments.
  std::array<double, 2> digest() const;
  /// Returns the source of a right side, which has integrals without factors. It contains a copy of the arrays that P
  /// changes, and refers to the arrays of the input. `threads`: at least 1. Throws InputError if an array cannot be
  /// read, std::bad_alloc and SystemError.
  std::unique_ptr<TileSource> side(std::size_t fragment, FragmentSide side, int threads) const;

 private:
  void read(Spin spin);
  ArrayView projector(std::size_t fragment, Spin spin) const;
  void change_amplitudes(DressedArrays& arrays, std::size_t fragment, const Terms& terms) const;
  void change_integrals(DressedArrays& arrays, std::size_t fragment, const Terms& terms) const;

  const DenseInput* input_;  ///< null: the source has no dense arrays, and no fragments
  std::size_t count_ = 0;
  BySpin<std::vector<double>> projectors_;  ///< [spin][fragment,i,i']; of a closed shell [alpha] only
};

}
