#include "cxx/triples/contraction_list.hpp"

#include <algorithm>
#include <optional>

#include "cxx/triples/terms.hpp"

namespace trifuse {

namespace {

using Permutation = std::array<int, 3>;

bool contracted_index(const TileSpace& space, SpinFormulation formulation, int add1, int add2, int subtract,
                      ContractedIndex& contracted) {
  contracted.irrep = space[add1].irrep ^ space[add2].irrep ^ space[subtract].irrep;
  contracted.spin = Spin::alpha;
  if (formulation == SpinFormulation::spin_adapted) return true;
  const int spin =
      spin_number(space[add1].spin()) + spin_number(space[add2].spin()) - spin_number(space[subtract].spin());
  if (spin != 1 && spin != 2) return false;
  contracted.spin = static_cast<Spin>(spin);
  return true;
}

/// Compares the tiles of two panels. The operator of std::array calls memcmp, which takes a fifth of a plan of small
/// tiles.
bool same_tiles(const PanelTiles& x, const PanelTiles& y) {
  return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

/// Adds a destination to the product of two panels. Adds the product to the list if it is new and its contracted index
/// is not empty. `used`: number of products in the list; later elements of `products` are memory for reuse.
void add_product(const TileSpace& space, SpinFormulation formulation, ContractionList& contractions, std::size_t& used,
                 const PanelTiles& left, const PanelTiles& right, const Destination& destination) {
  for (std::size_t n = 0; n < used; ++n) {
    Product& product = contractions.products[n];
    if (same_tiles(product.left, left) && same_tiles(product.right, right)) {
      product.destinations.push_back(destination);
      return;
    }
  }
  ContractedIndex contracted;
  if (!right_contracted_index(space, formulation, right, contracted) ||
      contracted_extent(space, contracted).total() == 0)
    return;
  if (used == contractions.products.size()) contractions.products.emplace_back();
  Product& product = contractions.products[used++];
  product.left = left;
  product.right = right;
  product.contracted = contracted;
  product.destinations.assign(1, destination);
}

std::uint8_t hole_slot(int position) {
  return static_cast<std::uint8_t>(3 + position);
}
std::uint8_t particle_slot(int position) {
  return static_cast<std::uint8_t>(position);
}

void write_spin_orbital(const TileSpace& space, const Task& task, ContractionList& contractions, std::size_t& used) {
  const auto& p = task.particles;
  const auto& h = task.holes;
  contractions.targets = targets_per_side(SpinFormulation::spin_orbital);
  for (const Term& term : terms) {
    const auto pp = others(term.particle);
    const auto hh = others(term.hole);
    const auto particle = static_cast<std::size_t>(term.particle);
    const auto hole = static_cast<std::size_t>(term.hole);
    if (term.kind == TermKind::singles) {
      const Tile& t1_particle = space[p[particle]];
      const Tile& t1_hole = space[h[hole]];
      if (t1_particle.spin() == t1_hole.spin() && t1_particle.irrep == t1_hole.irrep) {
        contractions.disconnected.push_back({0, term.sign, term.particle, term.hole, pp, hh});
      }
    } else if (term.kind == TermKind::particle_doubles) {
      // The hole term with the same lone particle and hole has the same sign: it is the second part of the same
      // product.
      const PanelTiles left{p[particle], h[static_cast<std::size_t>(hh[0])], h[static_cast<std::size_t>(hh[1])]};
      const PanelTiles right{p[static_cast<std::size_t>(pp[0])], p[static_cast<std::size_t>(pp[1])], h[hole]};
      add_product(space, SpinFormulation::spin_orbital, contractions, used, left, right,
                  {0,
                   term.sign,
                   {particle_slot(term.particle), hole_slot(hh[0]), hole_slot(hh[1]), particle_slot(pp[0]),
                    particle_slot(pp[1]), hole_slot(term.hole)}});
    }
  }
}

/// Returns the permutations of the three positions that leave the tiles of a triple unchanged, those that keep the last
/// position first.
std::vector<Permutation> stabilizer(const std::array<int, 3>& tiles) {
  std::vector<Permutation> kept;
  for (const Permutation& s : assignments) {
    bool same = true;
    for (std::size_t q = 0; q < 3; ++q) same = same && tiles[static_cast<std::size_t>(s[q])] == tiles[q];
    if (same) kept.push_back(s);
  }
  std::stable_partition(kept.begin(), kept.end(), [](const Permutation& s) { return s[2] == 2; });
  return kept;
}

/// Returns the lower target of which `target` is a permutation; nullopt if there is none. W of assignment s is W of
/// assignment r with the particles permuted by x and the holes permuted by y if s = y r x^-1. If possible, c stays in
/// place, because it is the fastest index of targets on cores.
std::optional<EquivalentTarget> find_equivalent_target(const Task& task, int target) {
  const Permutation& s = assignments[static_cast<std::size_t>(target)];
  for (int source = 0; source < target; ++source) {
    const Permutation& r = assignments[static_cast<std::size_t>(source)];
    for (const Permutation& x : stabilizer(task.particles)) {
      for (const Permutation& y : stabilizer(task.holes)) {
        bool equal = true;
        for (std::size_t q = 0; q < 3; ++q) {
          equal = equal && s[static_cast<std::size_t>(x[q])] == y[static_cast<std::size_t>(r[q])];
        }
        if (!equal) continue;
        return EquivalentTarget{target,
                                source,
                                {particle_slot(x[0]), particle_slot(x[1]), particle_slot(x[2]), hole_slot(y[0]),
                                 hole_slot(y[1]), hole_slot(y[2])}};
      }
    }
  }
  return std::nullopt;
}

/// Lists W_ijk^abc = P [ sum_d (bd|ai) t_kj^cd - sum_l (ck|jl) t_li^ba ]. P is the sum over the six simultaneous
/// permutations of the pairs (ia), (jb), (kc).
void write_spin_adapted(const TileSpace& space, const Task& task, EquivalentTargets equivalent_targets,
                        ContractionList& contractions, std::size_t& used) {
  contractions.targets = targets_per_side(SpinFormulation::spin_adapted);
  const auto p = [&](int position) { return task.particles[static_cast<std::size_t>(position)]; };
  const auto h = [&](int position) { return task.holes[static_cast<std::size_t>(position)]; };
  for (int target = 0; target < contractions.targets; ++target) {
    const Permutation& hole_of = assignments[static_cast<std::size_t>(target)];
    for (int factor = 0; factor < 3; ++factor) {
      const auto pp = others(factor);
      const auto at = [&](int position) { return hole_of[static_cast<std::size_t>(position)]; };
      if (space[p(factor)].irrep == space[h(at(factor))].irrep) {
        contractions.disconnected.push_back({target, +1, factor, at(factor), pp, {at(pp[0]), at(pp[1])}});
      }
    }
    if (const auto equivalent =
            equivalent_targets == EquivalentTargets::listed ? find_equivalent_target(task, target) : std::nullopt) {
      contractions.equivalent_targets.push_back(*equivalent);
      continue;
    }
    for (const Permutation& role : assignments) {
      const int c = role[0], b = role[1], a = role[2];
      const int k = hole_of[static_cast<std::size_t>(c)], j = hole_of[static_cast<std::size_t>(b)],
                i = hole_of[static_cast<std::size_t>(a)];
      add_product(space, SpinFormulation::spin_adapted, contractions, used, {p(c), h(k), h(j)}, {p(b), p(a), h(i)},
                  {target,
                   +1,
                   {particle_slot(c), hole_slot(k), hole_slot(j), particle_slot(b), particle_slot(a), hole_slot(i)}});
    }
  }
}

}

bool right_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& right,
                            ContractedIndex& contracted) {
  return contracted_index(space, formulation, right[0], right[1], right[2], contracted);
}

bool left_contracted_index(const TileSpace& space, SpinFormulation formulation, const PanelTiles& left,
                           ContractedIndex& contracted) {
  return contracted_index(space, formulation, left[1], left[2], left[0], contracted);
}

ContractedExtent contracted_extent(const TileSpace& space, const ContractedIndex& contracted) {
  const bool alpha = contracted.spin == Spin::alpha;
  return {space.range(alpha ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta, contracted.irrep).size,
          space.range(alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta, contracted.irrep).size};
}

void list_contractions(const TileSpace& space, SpinFormulation formulation, const Task& task,
                       ContractionList& contractions, EquivalentTargets equivalent_targets) {
  std::size_t used = 0;
  contractions.disconnected.clear();
  contractions.equivalent_targets.clear();
  if (formulation == SpinFormulation::spin_adapted) {
    write_spin_adapted(space, task, equivalent_targets, contractions, used);
  } else {
    write_spin_orbital(space, task, contractions, used);
  }
  contractions.products.resize(used);
}

double contraction_operations(const TileSpace& space, const ContractionList& contractions) {
  double operations = 0.0;
  for (const Product& product : contractions.products) {
    double elements = 2.0;
    for (const int t : product.left) elements *= static_cast<double>(space[t].size);
    for (const int t : product.right) elements *= static_cast<double>(space[t].size);
    operations += elements * static_cast<double>(contracted_extent(space, product.contracted).total());
  }
  return operations;
}

}
