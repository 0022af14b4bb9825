#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_movecs.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse {

/// The numbers of doubles in the files. A file that does not exist imposes no condition.
struct FoundSizes {
  std::optional<std::int64_t> f1;
  std::int64_t t1 = 0;
  std::int64_t t2 = 0;
  std::optional<std::int64_t> v2;
};

/// What is known about a calculation whose tile table is to be rebuilt. An absent number is found by trying.
struct RebuildRequest {
  const NwchemMovecs& movecs;
  FoundSizes sizes;
  std::optional<std::int64_t> tile_size;
  std::optional<std::int64_t> frozen_core;
  std::optional<std::int64_t> frozen_virtual;
  std::string prefix;  ///< prefix of the files, for messages
  std::string reason;  ///< the reason for rebuilding the table: a sentence without its full stop
  /// Returns the orbital energies that follow from the Fock matrix for the given tiles, eps[orbitals], hartree. The
  /// function is empty if there is no Fock matrix.
  std::function<std::vector<double>(const TileSpace&, Reference)> fock_energies;
};

/// A tile table that was found, and its parameters.
struct RebuiltTiles {
  TileSpace space;
  Reference reference;
  std::int64_t tile_size;  ///< the smallest tile size that gives these tiles
  std::int64_t frozen_core;
  std::int64_t frozen_virtual;
};

/// Finds the tile table of a calculation without symmetry, by trying tile sizes, numbers of frozen orbitals and
/// references. The result is the table for which all files have exactly their sizes and the Fock matrix gives the
/// orbital energies of the movecs file. Numbers in the request are taken as they are. Throws InputError, which names
/// the options that help, if no table or more than one table fits.
RebuiltTiles rebuild_tiles(const RebuildRequest& request);

}
