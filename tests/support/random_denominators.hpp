#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "cxx/triples/task.hpp"
#include "cxx/triples/triple_denominators.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// Made-up tables of denominators.
namespace trifuse::testing {

/// Returns random tables for the orbitals of `space`, with the symmetry of tables of a molecule. All denominators are
/// negative, except those of elements with equal orbitals of equal spins, which have no meaning: they have terms
/// `meaningless`.
inline TripleDenominators random_denominators(const TileSpace& space, SpinFormulation formulation,
                                              double meaningless = 0.0) {
  std::mt19937 random(11);
  const auto number = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  using enum OrbitalClass;
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  TripleDenominators tables;
  tables.holes = space.orbitals(hole_alpha) + (adapted ? 0 : space.orbitals(hole_beta));
  tables.particles = space.orbitals(particle_alpha) + (adapted ? 0 : space.orbitals(particle_beta));
  const auto o = static_cast<std::size_t>(tables.holes), v = static_cast<std::size_t>(tables.particles);
  for (std::size_t i = 0; i < o; ++i) tables.h.push_back(number(-3.0, -2.0));
  for (std::size_t a = 0; a < v; ++a) tables.p.push_back(number(2.0, 3.0));
  for (TripleDenominators::Terms* const terms : {&tables.same, &tables.opposite}) {
    const bool equal_spins = terms == &tables.same;
    // A matrix at each `step`: symmetric if its letters are alike.
    const auto symmetric = [&](std::vector<double>& table, std::size_t first, std::size_t n, std::size_t step) {
      for (std::size_t x = 0; x < n; ++x) {
        for (std::size_t y = 0; y <= x; ++y) {
          table[first + (x * n + y) * step] = table[first + (y * n + x) * step] =
              x == y && equal_spins ? meaningless : number(-0.1, 0.1);
        }
      }
    };
    terms->hh.resize(o * o);
    terms->pp.resize(v * v);
    terms->hp.resize(o * v);
    terms->hhp.resize(o * o * v);
    terms->hpp.resize(o * v * v);
    symmetric(terms->hh, 0, o, 1);
    symmetric(terms->pp, 0, v, 1);
    for (double& x : terms->hp) x = number(-0.1, 0.1);
    if (equal_spins) {
      for (std::size_t a = 0; a < v; ++a) symmetric(terms->hhp, a, o, v);
      for (std::size_t i = 0; i < o; ++i) symmetric(terms->hpp, i * v * v, v, 1);
    } else {
      for (double& x : terms->hhp) x = number(-0.1, 0.1);
      for (double& x : terms->hpp) x = number(-0.1, 0.1);
    }
  }
  return tables;
}

}
