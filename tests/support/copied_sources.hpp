#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tce_tiles/tiles/memory_source.hpp"

/// Copies of sources in memory.
namespace trifuse::testing {

/// Returns a copy of all blocks of `source` that triples need, and of its Fock matrix if it has one.
inline MemorySource copy_of(const TileSource& source) {
  const auto energies = source.orbital_energies();
  MemorySource copy(source.tiles(), {energies.begin(), energies.end()}, source.info(),
                    {.integrals = source.has_integrals(), .fock = source.has_fock()});
  std::vector<double> block;
  const auto sized = [&](const Block& b) -> std::vector<double>& {
    block.resize(static_cast<std::size_t>(b.size));
    return block;
  };
  for (const Block& b : copy.fock_index().blocks()) {
    source.read_fock(b.tiles[0], b.tiles[1], sized(b));
    copy.set_fock(b.tiles[0], b.tiles[1], block);
  }
  for (const Block& b : copy.t1_index().blocks()) {
    source.read_t1(b.tiles[0], b.tiles[1], sized(b));
    copy.set_t1(b.tiles[0], b.tiles[1], block);
  }
  for (const Block& b : copy.t2_index().blocks()) {
    source.read_t2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3], sized(b));
    copy.set_t2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3], block);
  }
  for (const Block& b : copy.v2_index().blocks()) {
    source.read_v2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3], sized(b));
    copy.set_v2(b.tiles[0], b.tiles[1], b.tiles[2], b.tiles[3], block);
  }
  return copy;
}

/// Returns a copy of `source` in tiles of at most these numbers of orbitals.
inline std::unique_ptr<TileSource> copy_in_tiles(const TileSource& source, std::int64_t hole_tile,
                                                 std::int64_t particle_tile) {
  return retile(source, source.tiles().retiled(hole_tile, particle_tile),
                {.integrals = source.has_integrals(), .fock = source.has_fock()});
}

}
