#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/tile_space.hpp"

namespace trifuse {

/// Blocks of T2 or V2 of a restricted reference, of which a source may hold every spin case by itself, although all are
/// made of the blocks d[p, q, r, s] with the spins alpha, beta, alpha, beta: d[p, q, r, s] = d[q, p, s, r], blocks of
/// four equal spins are d[p, q, r, s] - d[p, q, s, r], and those of the spins alpha, beta, beta, alpha (or beta, alpha,
/// alpha, beta) are -d[p, q, s, r].
class SpinCases {
 public:
  using Quad = std::array<int, 4>;
  /// Reads the block [p, q, r, s] of these tiles, of spins alpha, beta, alpha, beta.
  using Read = std::function<void(const Quad& tiles, std::span<double> block)>;

  SpinCases(const TileSpace& space, Read read) : space_(space), read_(std::move(read)) {}

  /// The largest difference of a block [p, q, r, s], of T2 or of the classes of V2 that triples need, from what the
  /// blocks of spins alpha, beta, alpha, beta make of it. Where two of these must be equal, they are compared when the
  /// first of them is asked for.
  double violation(const Quad& tiles, std::span<const double> block);

 private:
  using Extents = std::array<std::int64_t, 4>;
  bool alpha(int tile) const { return space_[tile].spin() == Spin::alpha; }
  bool same_space(int first, int second) const { return space_[first].space() == space_[second].space(); }
  /// The tile of the same spatial orbitals with this spin.
  int with_spin(int tile, Spin spin) const;
  /// Reads the block of these orbitals with the spins alpha, beta, alpha, beta.
  std::span<const double> read(const Quad& tiles, Buffer& buffer) const;

  const TileSpace& space_;
  Read read_;
  Buffer direct_, exchanged_;
};

}  // namespace trifuse
