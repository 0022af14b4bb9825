#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/triples/method.hpp"
#include "cxx/triples/task.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// The contraction list of a task: the matrix products that make its connected triples, in either spin formulation.
///
/// Each doubles term has one particle and one hole that stand alone (see terms.hpp). A hole term and a particle term
/// with the same lone particle and the same lone hole have the same free indices. Therefore one matrix product computes
/// both: its contracted index x runs first over the particles d of the particle term, then over the holes l of the hole
/// term. Below, p1, h1, h2 are the free indices of the left panel L, and p2, p3, h3 are those of the right panel R. `|`
/// separates the two parts of x.
///
///     C[p1,h1,h2, p2,p3,h3] = sum_x L[p1,h1,h2,x] R[p2,p3,h3,x]
///
///     spin-orbital   L = t2[p1,d,h1,h2] | v2[l,p1,h1,h2]             R = v2[p2,p3,h3,d] | t2[p2,p3,h3,l]
///     spin-adapted   L = t_{h1 h2}^{p1 d} | -(p1 h1|h2 l)            R = (p2 d|p3 h3)   | t_{l h3}^{p2 p3}
///
/// A panel depends on three tiles, and many tasks use it. Each product is added to one or more targets, arrays of six
/// indices. A task has one target, D, in the spin-orbital formulation. In the spin-adapted formulation it has six
/// targets W, one for each assignment of the holes to the particles. Products that are equal because tiles are equal
/// stand in the list once.
namespace trifuse {

/// The numbers of the three tiles that name a panel: {p1, h1, h2} for a left panel, {p2, p3, h3} for a right panel.
using PanelTiles = std::array<int, 3>;

/// A target to which a product is added.
struct Destination {
  int target;  ///< number of the target: 0 (spin-orbital) or 0..5 (spin-adapted)
  int sign;    ///< sign of the product, +1 or -1
  /// [p1, h1, h2, p2, p3, h3]: the index of the task that this index of the product is. 0, 1, 2 are a, b, c and 3, 4, 5
  /// are i, j, k.
  std::array<std::uint8_t, 6> slot;
};

/// Spin and irrep of the contracted index of a product. The index takes all particles of this spin and irrep, then all
/// holes of them. In the spin-adapted formulation the spin is alpha.
struct ContractedIndex {
  Spin spin;
  int irrep;
};

/// One matrix product of a task.
struct Product {
  PanelTiles left;
  PanelTiles right;
  ContractedIndex contracted;
  std::vector<Destination> destinations;  ///< at least one
};

/// A term of the disconnected triples S: sign * t1[p,h] * vvoo[p',p'',h',h'']. The vvoo tensor is <p'p''||h'h''>, in
/// the spin-adapted formulation (p'h'|p''h''). The sets of a method (method.hpp) may have f_ov instead of t1, and t2
/// instead of <p'p''||h'h''>.
///
/// Positions of particles are 0, 1, 2 for a, b, c; positions of holes are 0, 1, 2 for i, j, k.
struct DisconnectedTerm {
  int target;                         ///< as in Destination
  int sign;                           ///< +1 or -1
  int particle, hole;                 ///< positions of the indices of t1
  std::array<int, 2> vvoo_particles;  ///< positions of the particles of vvoo, ascending
  std::array<int, 2> vvoo_holes;      ///< positions of the holes of vvoo; ascending for spin orbitals only
  /// Returns the tiles of the vvoo block: {p', p'', h', h''}.
  std::array<int, 4> vvoo_tiles(const Task& task) const {
    const auto tile = [](const std::array<int, 3>& tiles, int position) {
      return tiles[static_cast<std::size_t>(position)];
    };
    return {tile(task.particles, vvoo_particles[0]), tile(task.particles, vvoo_particles[1]),
            tile(task.holes, vvoo_holes[0]), tile(task.holes, vvoo_holes[1])};
  }
};

/// A target that is a permutation of another target, because tiles of the task are equal. Let x be the six indices a,
/// b, c, i, j, k of an element of the target. Then target[x] = source[y] with y[s] = x[slot[s]].
struct EquivalentTarget {
  int target;
  int source;                        ///< less than `target`
  std::array<std::uint8_t, 6> slot;  ///< as in Destination
};

/// All products and terms of one task.
struct ContractionList {
  int targets = 0;  ///< see targets_per_side()
  std::vector<Product> products;
  std::vector<DisconnectedTerm> disconnected;
  std::vector<EquivalentTarget> equivalent_targets;
};

/// The six assignments of the holes to the particles: in spin-adapted target s, the particle at position q belongs to
/// the hole at position assignments[s][q]. The first three assignments are even permutations, the last three are odd
/// ones.
inline constexpr std::array<std::array<int, 3>, 6> assignments = {
    {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}}};

/// What `list_contractions` does with a target that is a permutation of another target. An executor that never has the
/// whole block of a target in memory cannot copy it and needs `computed`.
enum class EquivalentTargets : std::uint8_t {
  listed,   ///< listed in `equivalent_targets`, without products: the executor copies the source
  computed  ///< not listed: it has products of its own, like any other target
};

/// Writes the contraction list of `task`, whose tiles are numbers of `space`, to `contractions`. Memory of an earlier
/// list in `contractions` is reused.
void list_contractions(const TileSpace& space, SpinFormulation formulation, const Task& task,
                       ContractionList& contractions, EquivalentTargets equivalent_targets = EquivalentTargets::listed);

/// Determines the contracted index of a right or a left panel. Returns false if spin is conserved for no spin of the
/// contracted index; then the panel is zero.
bool right_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& right,
                            ContractedIndex& contracted);
bool left_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& left,
                           ContractedIndex& contracted);

/// The numbers of orbitals over which a contracted index goes.
struct ContractedExtent {
  std::int64_t particles;
  std::int64_t holes;
  std::int64_t total() const { return particles + holes; }
};
ContractedExtent contracted_extent(const TileSpace& space, const ContractedIndex& contracted);

/// Returns the floating-point operations of the products. A multiplication and an addition count as two operations.
/// Disconnected triples and energies are of lower order and do not count.
double contraction_operations(const TileSpace& space, const ContractionList& contractions);

}
