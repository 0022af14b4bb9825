#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Compares the spin cases of T2 or V2 of a restricted reference.
///
/// All blocks follow from the blocks d[p,q,r,s] with the spins alpha, beta, alpha, beta. But a source may store every
/// spin case. Then these relations must hold:
///   - d[p,q,r,s] = d[q,p,s,r],
///   - a block of four equal spins is d[p,q,r,s] - d[p,q,s,r],
///   - a block of the spins alpha, beta, beta, alpha or beta, alpha, alpha, beta is -d[p,q,s,r].
class SpinCases {
 public:
  using Quad = std::array<int, 4>;  ///< four tiles, in the order of the indices

  /// `source` must be restricted and outlive this object. `tensor`: T2 or V2.
  SpinCases(const TileSource& source, TensorKind tensor) : source_(source), tensor_(tensor) {}

  /// Returns the largest absolute difference between `block`, a block [p,q,r,s] of T2 or of the classes of V2 that
  /// triples need, and the same block derived from the blocks with the spins alpha, beta, alpha, beta. If two blocks
  /// with these spins must be equal, the call for the first one compares them, and the call for the second one returns
  /// 0.
  double violation(const Quad& tiles, std::span<const double> block);

 private:
  using Extents = std::array<std::int64_t, 4>;
  bool alpha(int tile) const { return space_[tile].spin() == Spin::alpha; }
  bool same_space(int first, int second) const { return space_[first].space() == space_[second].space(); }
  /// Returns the tile with the same spatial orbitals and the spin `spin`.
  int with_spin(int tile, Spin spin) const;
  /// Reads the block with the same spatial orbitals and the spins alpha, beta, alpha, beta.
  std::span<const double> read(const Quad& tiles, Buffer& buffer) const;

  const TileSource& source_;
  const TensorKind tensor_;
  const TileSpace& space_ = source_.tiles();
  Buffer direct_, exchanged_;
};

}
