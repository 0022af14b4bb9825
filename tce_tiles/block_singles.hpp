#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/singles_equation.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Tests the equation of the single excitations with TCE's blocks.
///
/// DenseArray arrays of t2 and of all integrals but ovvv are collected block by block; blocks of ovvv are used as they
/// come. Order of calls: add_t2 and add_v2 for all blocks of t2, {p p|h h}, {h p|h h} and, where the source has them,
/// {h p|h p}; finish_collecting(); add_v2 for all blocks {p p|h p}; residual(). By one thread.
class BlockSingles final : private SinglesSlabs {
 public:
  /// Bytes of the dense arrays for these tiles.
  static double bytes(const TileSpace& tiles, bool with_oovv);
  /// `t1`, `fock`: dense, by spin, as in SinglesProblem.
  BlockSingles(const TileSpace& tiles, double omega2, std::array<std::vector<double>, 2> t1,
               std::array<std::vector<double>, 2> fock, bool with_oovv);

  /// t_{h3 h4}^{p1 p2} as [p1, p2, h3, h4].
  void add_t2(const std::array<int, 4>& tiles, std::span<const double> block);
  /// <g3 g4||g1 g2> as [g3, g4, g1, g2]; classes that the equation does not need are left out.
  void add_v2(const std::array<int, 4>& tiles, std::span<const double> block);
  void finish_collecting();
  SinglesResidual residual() const { return equation_->residual(); }

 private:
  /// A dense array [n0, n1, n2, n3].
  struct DenseArray {
    std::array<std::int64_t, 4> extent{};
    Buffer values;
    void make(const std::array<std::int64_t, 4>& shape);
    void copy_slab(std::int64_t n, std::int64_t first, std::span<double> out) const;  ///< [n, first..., ...]
  };

  void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
               std::span<double> out) const override;
  void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_oovv(int s, std::int64_t n, std::span<double> out) const override;

  int spin(int tile) const { return tiles_[tile].spin() == Spin::alpha ? 0 : 1; }
  bool particle(int tile) const { return tiles_[tile].space() == Space::particle; }
  std::int64_t offset_in_class(int tile) const;
  /// Writes sign * block to `to`; `stride`: elements of `to` from one index of an axis of the block to the next.
  void scatter(const std::array<int, 4>& tiles, std::span<const double> block, double sign,
               const std::array<std::int64_t, 4>& stride, double* to) const;
  /// Puts sign * block into `to`, whose axis k is axis `axes[k]` of the block.
  void copy_to_array(const std::array<int, 4>& tiles, std::span<const double> block,
                     const std::array<std::size_t, 4>& axes, double sign, DenseArray& to) const;
  /// The same into a box by itself, which the equation takes as part of ovvv.
  void add_ovvv(const std::array<int, 4>& tiles, std::span<const double> block, const std::array<std::size_t, 4>& axes,
                double sign);
  void copy_to_pair_arrays(const std::array<int, 4>& tiles, std::span<const double> block,
                           const std::array<std::size_t, 4>& axes, std::array<DenseArray, 4>& to);

  const TileSpace& tiles_;
  SinglesProblem problem_;
  /// By spins of the first and of the second pair: aa, ab, ba, bb; restricted: the first alone.
  std::array<DenseArray, 4> t2_, ovov_, ovoo_;
  std::array<DenseArray, 2> oovv_;
  Buffer box_;
  std::optional<SinglesEquation> equation_;
};

}  // namespace trifuse
