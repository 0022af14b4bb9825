#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tce_tiles/nwchem_layout.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// The tiles of a running NWChem as its common blocks have them: numbers from 1, in NWChem's order.
struct NwchemTiles {
  std::int64_t noa = 0, nob = 0, nva = 0, nvb = 0;  ///< tiles of each class
  std::span<const std::int64_t> spin;               ///< [tiles], 1 alpha, 2 beta
  std::span<const std::int64_t> irrep;              ///< [tiles], from 0
  std::span<const std::int64_t> size;               ///< [tiles], orbitals
  bool restricted = false;
  V2Storage storage = V2Storage::spin_orbital;
  std::span<const std::int64_t> spatial_tile;  ///< [tiles], b2am, of the spatial storage; else empty
};

/// Doubles that NWChem says its vectors have.
struct NwchemLengths {
  std::int64_t t1, t2, v2;
};

enum class NwchemTensor { t1, t2, v2 };

/// Reads doubles of a tensor from `offset` on, and throws where it cannot.
using NwchemReader = std::function<void(NwchemTensor tensor, std::int64_t offset, std::span<double> values)>;

/// Throws InputError where the table is not one of NWChem's.
TileSpace nwchem_tile_space(const NwchemTiles& tiles);

/// The blocks of a running NWChem, whose vectors `read` gives pieces of; it is called by one thread at a time.
/// `orbital_energies`: one for each orbital in the order of the tiles. Throws InputError where table, lengths and
/// energies do not belong together.
std::unique_ptr<TileSource> make_nwchem_caller_source(const NwchemTiles& tiles, const NwchemLengths& lengths,
                                                      std::span<const double> orbital_energies, NwchemReader read);

}  // namespace trifuse
