#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The tiles of a running NWChem, as its common blocks hold them. Tiles have NWChem's order, and tile numbers in the
/// arrays start at 1. `tiles` in a shape is noa + nob + nva + nvb.
struct NwchemTiles {
  std::int64_t noa = 0, nob = 0, nva = 0, nvb = 0;  ///< numbers of tiles: occupied alpha, beta, virtual alpha, beta
  std::span<const std::int64_t> spin;               ///< spin[tiles]: 1 alpha, 2 beta
  std::span<const std::int64_t> irrep;              ///< irrep[tiles], 0 to 7
  std::span<const std::int64_t> size;               ///< size[tiles]: number of orbitals
  bool restricted = false;
  V2Storage storage = V2Storage::spin_orbital;
  std::span<const std::int64_t>
      spatial_tile;  ///< spatial_tile[tiles], NWChem's b2am; empty unless V2 is in spatial storage
};

/// The lengths of NWChem's vectors, as NWChem reports them, in doubles.
struct NwchemLengths {
  std::int64_t t1, t2, v2;
};

/// The tensor that a reader reads.
enum class NwchemTensor { t1, t2, v2 };

/// Must fill `values` with the doubles of a tensor from `offset` on, counted in doubles from 0, or throw.
using NwchemReader = std::function<void(NwchemTensor tensor, std::int64_t offset, std::span<double> values)>;

/// Returns the tile space of a table. Throws InputError if the table cannot be one of NWChem's.
TileSpace nwchem_tile_space(const NwchemTiles& tiles);

/// Makes a source of the blocks of a running NWChem. The source calls `read` for parts of NWChem's vectors, from one
/// thread at a time. `orbital_energies`: eps[orbitals] in the order of the tiles, hartree. Throws InputError if table,
/// lengths and energies do not fit together.
std::unique_ptr<TileSource> make_nwchem_caller_source(const NwchemTiles& tiles, const NwchemLengths& lengths,
                                                      std::span<const double> orbital_energies, NwchemReader read);

}
