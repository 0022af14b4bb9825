#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_movecs.hpp"
#include "tce_tiles/tile_space.hpp"

namespace trifuse {

/// Doubles found in the files; absent files impose nothing.
struct FoundSizes {
  std::optional<std::int64_t> f1;
  std::int64_t t1 = 0;
  std::int64_t t2 = 0;
  std::optional<std::int64_t> v2;
};

struct RebuildRequest {
  const NwchemMovecs& movecs;
  FoundSizes sizes;
  std::optional<std::int64_t> tile_size;
  std::optional<std::int64_t> frozen_core;
  std::optional<std::int64_t> frozen_virtual;
  std::string prefix;  ///< of the files, for messages
  std::string reason;  ///< why the table has to be rebuilt, a sentence without its end
  /// Orbital energies by the Fock matrix for given tiles; empty if there is no Fock matrix.
  std::function<std::vector<double>(const TileSpace&, Reference)> fock_energies;
};

struct RebuiltTiles {
  TileSpace space;
  Reference reference;
  std::int64_t tile_size;  ///< the least that gives these tiles
  std::int64_t frozen_core;
  std::int64_t frozen_virtual;
};

/// The tile table of a calculation without symmetry, found by trying: the one for which all files have exactly the
/// sizes they have and the Fock matrix has the orbital energies of the movecs file. What the request gives is not
/// tried. Throws InputError naming the options that help if there is none or more than one.
RebuiltTiles rebuild_tiles(const RebuildRequest& request);

}  // namespace trifuse
