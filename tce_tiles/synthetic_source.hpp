#pragma once

#include <cstdint>
#include <memory>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Sizes of a made-up molecule. Orbitals are spread over the irreps as evenly as possible, or `uneven`: as in
/// molecules, where the totally symmetric irrep has most; here the first has twice as many as the last, with a straight
/// line between them.
struct SyntheticMolecule {
  Reference reference = Reference::rhf;
  std::int64_t occupied_alpha = 0, occupied_beta = 0;
  std::int64_t virtual_alpha = 0, virtual_beta = 0;
  int irreps = 1;  ///< 1, 2, 4 or 8
  std::int64_t hole_tile = 4, particle_tile = 16;
  std::uint64_t seed = 1;  ///< another seed, other amplitudes with the same integrals and orbital energies
  bool uneven = false;     ///< over the irreps
};

/// Amplitudes and integrals of no molecule, for benchmarks and tests: each number is a hash of its indices, with all
/// symmetries that real ones have, small enough for sensible energies, and the same on every machine. Nothing is
/// stored.
std::unique_ptr<TileSource> make_synthetic_source(const SyntheticMolecule& molecule);

}  // namespace trifuse
