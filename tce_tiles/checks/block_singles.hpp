#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/checks/singles_equation.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Evaluates the equation of the single excitations (singles_equation.hpp) from TCE's blocks.
///
/// The object collects dense arrays of t2 and of all integrals except ovvv. It uses each block of ovvv at once and does
/// not store it. One thread makes the calls, in this order:
///   1. add_t2 for all blocks of t2; add_v2 for all blocks {p p|h h} and {h p|h h}, and for {h p|h p} if the source
///      has them
///   2. finish_collecting()
///   3. add_v2 for all blocks {p p|h p}
///   4. residual()
class BlockSingles final : private SinglesSlabs {
 public:
  /// Returns the memory of the dense arrays for these tiles, in bytes. `with_oovv`: as in the constructor.
  static double bytes(const TileSpace& tiles, bool with_oovv);
  /// `tiles` must outlive this object. `omega2` is in hartree. `t1` and `fock` are dense and by spin, as in
  /// SinglesProblem. `with_oovv`: the caller adds the blocks {h p|h p}.
  BlockSingles(const TileSpace& tiles, double omega2, std::array<std::vector<double>, 2> t1,
               std::array<std::vector<double>, 2> fock, bool with_oovv);

  /// Adds a block t2[p1,p2,h3,h4]; `tiles` are {p1, p2, h3, h4}.
  void add_t2(const std::array<int, 4>& tiles, std::span<const double> block);
  /// Adds a block v2[g3,g4,g1,g2] = <g3 g4||g1 g2>; `tiles` are {g3, g4, g1, g2}. Ignores blocks that the equation does
  /// not need.
  void add_v2(const std::array<int, 4>& tiles, std::span<const double> block);
  /// Adds the terms of the collected arrays for the occupied orbitals of part `part` of `parts`.
  void finish_collecting(int part = 0, int parts = 1);
  /// Returns the residual, after all blocks.
  SinglesResidual residual() const { return equation_->residual(); }
  /// Returns the numbers that objects with parts of the blocks add up, see SinglesEquation.
  std::vector<double> second_sums() const { return equation_->second_sums(); }
  void set_second_sums(std::span<const double> sums) { equation_->set_second_sums(sums); }

 private:
  /// A dense array [n0,n1,n2,n3].
  struct DenseArray {
    std::array<std::int64_t, 4> extent{};
    Buffer values;
    void make(const std::array<std::int64_t, 4>& shape);
    /// Copies the elements from [n,first,0,0] on, as many as `out` has.
    void copy_slab(std::int64_t n, std::int64_t first, std::span<double> out) const;
  };

  void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
               std::span<double> out) const override;
  void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_oovv(int s, std::int64_t n, std::span<double> out) const override;

  int spin(int tile) const { return tiles_[tile].spin() == Spin::alpha ? 0 : 1; }
  bool particle(int tile) const { return tiles_[tile].space() == Space::particle; }
  std::array<std::int64_t, 4> extents(const std::array<int, 4>& tiles) const {
    return {tiles_[tiles[0]].size, tiles_[tiles[1]].size, tiles_[tiles[2]].size, tiles_[tiles[3]].size};
  }
  /// Copies sign * block to the part of `to` for these tiles. Axis k of `to` is axis `axes[k]` of the block.
  void copy_to_array(const std::array<int, 4>& tiles, std::span<const double> block,
                     const std::array<std::size_t, 4>& axes, double sign, DenseArray& to) const;
  /// Adds sign * block to the equation as a part of ovvv. `axes`: see `copy_to_array`.
  void add_ovvv(const std::array<int, 4>& tiles, std::span<const double> block, const std::array<std::size_t, 4>& axes,
                double sign);
  /// Copies a block [p1,p2,h3,h4] of the electron pairs (h3 p1), (h4 p2) to every array of `to` that holds its numbers,
  /// with their permutations. `axes`: see `copy_to_array`, for the array of alpha, beta.
  void copy_to_pair_arrays(const std::array<int, 4>& tiles, std::span<const double> block,
                           const std::array<std::size_t, 4>& axes, std::array<DenseArray, 4>& to);

  const TileSpace& tiles_;
  SinglesProblem problem_;
  /// Arrays by the spins of the first and of the second pair: aa, ab, ba, bb. A restricted reference uses only element
  /// 0.
  std::array<DenseArray, 4> t2_, ovov_, ovoo_;
  std::array<DenseArray, 2> oovv_;
  Buffer box_;
  std::optional<SinglesEquation> equation_;
};

}
