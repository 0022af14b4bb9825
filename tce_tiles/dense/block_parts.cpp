#include "tce_tiles/dense/block_parts.hpp"

#include <utility>

namespace trifuse {

namespace {

/// An integral (pq|rs). Each number is the position of an index of the integral in the tiles of the block.
using Mulliken = std::array<std::size_t, 4>;

class BlockPartsOf {
 public:
  BlockPartsOf(const TileSpace& space, const std::array<int, 4>& tiles) : space_(space), tiles_(tiles) {}

  Space space(std::size_t k) const { return space_[tiles_[k]].space(); }
  Spin spin(std::size_t k) const { return space_[tiles_[k]].spin(); }
  BlockPart part(ArrayKind kind, std::size_t first, std::size_t second, const std::array<std::size_t, 4>& axes,
                 double sign) const {
    if (space_.restricted()) return {kind, Spin::alpha, Spin::beta, axes, sign};
    return {kind, spin(first), spin(second), axes, sign};
  }

  /// Returns sign * (pq|rs). p and r are upper tiles of the block, q and s are lower tiles. From an antisymmetrised
  /// array, the caller takes only the first (direct) of the two integrals, whose order of axes is that of the array.
  BlockPart integral(Mulliken pqrs, double sign) const {
    auto [p, q, r, s] = pqrs;
    if (space(p) == Space::hole && space(q) == Space::hole && space(r) == Space::particle &&
        space(s) == Space::particle) {
      return part(ArrayKind::oovv, p, r, {p, q, r, s}, sign);
    }
    // In every other array the first pair has one occupied and one virtual orbital.
    if (space(p) == space(q)) {
      std::swap(p, r);
      std::swap(q, s);
    }
    const std::size_t i = space(p) == Space::hole ? p : q;
    const std::size_t a = space(p) == Space::hole ? q : p;
    if (space(r) == space(s)) {
      if (space(r) == Space::particle) return part(ArrayKind::ovvv, i, r, {i, a, r, s}, sign);
      return part(ArrayKind::ovoo, i, r, {i, a, s, r}, sign);
    }
    const std::size_t j = space(r) == Space::hole ? r : s;
    const std::size_t b = space(r) == Space::hole ? s : r;
    // The tiles of a pair ascend. So for different spins i and a are alpha, as in the array.
    return part(ArrayKind::ovov, i, j, {i, a, j, b}, sign);
  }

 private:
  const TileSpace& space_;
  const std::array<int, 4>& tiles_;
};

}

std::vector<BlockPart> parts_of_t2(const TileSpace& space, const std::array<int, 4>& tiles) {
  const BlockPartsOf of(space, tiles);
  std::vector<BlockPart> parts = {of.part(ArrayKind::t2, 0, 1, {2, 3, 0, 1}, 1.0)};
  // For equal spins of a closed shell, t_ij^ab = t2[i,j,a,b] - t2[j,i,a,b], where t2 are the opposite-spin amplitudes.
  if (space.restricted() && of.spin(0) == of.spin(1)) parts.push_back(of.part(ArrayKind::t2, 0, 1, {3, 2, 0, 1}, -1.0));
  return parts;
}

std::vector<BlockPart> parts_of_v2(const TileSpace& space, const std::array<int, 4>& tiles,
                                   const std::function<bool(ArrayKind kind, Spin spin)>& antisymmetrised) {
  constexpr std::size_t g3 = 0, g4 = 1, g1 = 2, g2 = 3;
  const BlockPartsOf of(space, tiles);
  std::vector<BlockPart> parts;
  if (of.spin(g3) == of.spin(g1)) parts.push_back(of.integral({g3, g1, g4, g2}, 1.0));
  if (of.spin(g3) != of.spin(g2)) return parts;
  const bool asym = !space.restricted() && of.spin(g3) == of.spin(g4) &&
                    antisymmetrised(of.integral({g3, g1, g4, g2}, 1.0).kind, of.spin(g3));
  if (!asym) parts.push_back(of.integral({g3, g2, g4, g1}, -1.0));
  return parts;
}

}
