#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cxx/triples/task.hpp"
#include "tce_tiles/tile_space.hpp"

/// What has to be multiplied for one task, in either form, said as matrix products.
///
/// A hole term and a particle term whose lone indices are the same pair (p alone, h alone) have the same free indices
/// on either side of the product, so their inner sums are laid end to end and become one:
///
///     C[(p hh'), (pp' h)] = sum_x L[x, (p hh')] R[x, (pp' h)]        x = d over particles, then l over holes
///
///     spin-orbital   L = t2[p d, hh'] | v2[l p, hh']                 R = v2[pp', h d] | t2[pp', h l]
///     spin-adapted   L = t_hh'^{p d} | -(p h|h' l)                   R = (p d|p' h)  | t_l h^{p p'}
///
/// L and R depend on three tiles each and are used by many tasks: they are the panels that an executor keeps. A task is
/// a list of such products, each added into one or more six-index targets: one target D in spin-orbital form, one W for
/// each of the six assignments of the holes to the particles in spin-adapted form. Products that tiles in common make
/// equal are listed once.
namespace trifuse {

/// The three tiles that name a panel: left (p, h, h'), right (p, p', h).
using PanelTiles = std::array<int, 3>;

/// Where a product goes. `slot` says which index of the task each of the six free indices is, left (p, h, h') then
/// right (p, p', h): 0..2 for a, b, c, and 3..5 for i, j, k.
struct Destination {
  int target;
  int sign;
  std::array<std::uint8_t, 6> slot;
};

/// Spin and irrep of the inner index of a product; both sums run over all orbitals that have them.
struct ContractedIndex {
  Spin spin;
  int irrep;
};

struct Product {
  PanelTiles left;
  PanelTiles right;
  ContractedIndex contracted;
  std::vector<Destination> destinations;
};

/// A term of S: sign * t1[particle, hole] * pair[p p', h h'], where pair is <pp'||hh'>, spin-adapted (p h|p' h').
/// Positions 0..2 in a, b, c and in i, j, k; the particles stand in ascending order, the holes as written.
struct DisconnectedTerm {
  int target;
  int sign;
  int particle, hole;
  std::array<int, 2> vvoo_particles;
  std::array<int, 2> vvoo_holes;
  /// The tiles of its pair block: p, p', h, h'.
  std::array<int, 4> vvoo_tiles(const Task& task) const {
    const auto tile = [](const std::array<int, 3>& tiles, int position) {
      return tiles[static_cast<std::size_t>(position)];
    };
    return {tile(task.particles, vvoo_particles[0]), tile(task.particles, vvoo_particles[1]),
            tile(task.holes, vvoo_holes[0]), tile(task.holes, vvoo_holes[1])};
  }
};

/// A target that equals another one with indices interchanged, because tiles coincide: target[x_0..x_5] = source[y]
/// with y_s = x_{slot[s]}, slots as in Destination.
struct EquivalentTarget {
  int target;
  int source;
  std::array<std::uint8_t, 6> slot;
};

struct ContractionList {
  int targets = 0;  ///< 1 or 6
  std::vector<Product> products;
  std::vector<DisconnectedTerm> disconnected;
  std::vector<EquivalentTarget> equivalent_targets;
};

/// The six assignments of spin-adapted targets: target s gives particle position q the hole position assignments[s][q].
/// The first three are even permutations, the last three odd.
inline constexpr std::array<std::array<int, 3>, 6> assignments = {
    {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}, {0, 2, 1}}};

/// Whether targets that equal others are named as such, or spelled out with products of their own: an executor that
/// computes every set of orbitals once, and so never has the whole block of a target, needs them all.
enum class EquivalentTargets : std::uint8_t { listed, computed };

/// Writes the contraction list of `task` into `contractions`, whose storage is reused.
void list_contractions(const TileSpace& space, SpinFormulation formulation, const Task& task,
                       ContractionList& contractions, EquivalentTargets equivalent_targets = EquivalentTargets::listed);

/// The inner index that a right panel (p, p', h) or a left panel (p, h, h') must have; false where no spin fits.
bool right_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& right,
                            ContractedIndex& contracted);
bool left_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& left,
                           ContractedIndex& contracted);

/// Number of orbitals that an inner index runs over.
struct ContractedExtent {
  std::int64_t particles;
  std::int64_t holes;
  std::int64_t total() const { return particles + holes; }
};
ContractedExtent contracted_extent(const TileSpace& space, const ContractedIndex& contracted);

/// Floating-point operations of the products, a multiply and an add counted as two. Singles and energies, which are of
/// lower order, do not count.
double contraction_operations(const TileSpace& space, const ContractionList& contractions);

}  // namespace trifuse
