#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_caller.hpp"
#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tce_tiles/nwchem_files/nwchem_table.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse::testing {

/// The memory of a running NWChem when (T) begins: tile table, orbital energies, and vectors in NWChem's order. They
/// come from the files that NWChem wrote at that time.
class NwchemProgram {
 public:
  /// `prefix`: prefix of the files.
  explicit NwchemProgram(const std::string& prefix) {
    NwchemLocation location;
    location.prefix = prefix;
    files = open_nwchem(location);
    vectors = open_tensors(location);
    const TileSpace& space = files->tiles();
    for (const Tile& tile : space.tiles()) {
      spin.push_back(spin_number(tile.spin()));
      irrep.push_back(tile.irrep);
      size.push_back(tile.size);
    }
    if (spatial()) {
      for (const int tile : spatial_tiles(space).spatial_tile) spatial_tile.push_back(tile + 1);
    }
    energies.assign(files->orbital_energies().begin(), files->orbital_energies().end());
    lengths = {vectors.t1.doubles(), vectors.t2.doubles(), vectors.v2->doubles()};
    for (std::size_t c = 0; c < 4; ++c) counts[c] = space.last(orbital_classes[c]) - space.first(orbital_classes[c]);
    restricted = space.restricted();
  }

  bool spatial() const { return vectors.storage(files->tiles()) == V2Storage::spatial; }
  const NwchemPayload& vector(NwchemTensor tensor) const {
    return tensor == NwchemTensor::t1 ? vectors.t1 : tensor == NwchemTensor::t2 ? vectors.t2 : *vectors.v2;
  }
  NwchemTiles tiles() const {
    NwchemTiles tiles{counts[0], counts[1], counts[2], counts[3], spin, irrep, size, restricted, {}, spatial_tile};
    if (spatial()) tiles.storage = V2Storage::spatial;
    return tiles;
  }

  std::unique_ptr<TileSource> files;
  NwchemTensors vectors;
  std::array<std::int64_t, 4> counts{};  ///< noa, nob, nva, nvb
  std::vector<std::int64_t> spin, irrep, size, spatial_tile;
  std::vector<double> energies;
  NwchemLengths lengths{};
  bool restricted = false;
};

}
