#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// The location of NWChem's files. Usually `prefix` is enough. The other members are for files that were moved or
/// renamed, or of which some are missing.
struct NwchemLocation {
  /// PATH/prefix of the files (prefix is the name after NWChem's `start`), or a directory with the files of one
  /// calculation.
  std::string prefix;
  std::optional<std::string> output;  ///< NWChem's output; if absent, it is searched beside the files
  std::optional<std::string> movecs;  ///< molecular orbitals; if absent, PREFIX.movecs
  /// Numbers for rebuilding the tile table if there is no output. An absent number is deduced.
  std::optional<std::int64_t> tile_size;
  std::optional<std::int64_t> frozen_core;
  std::optional<std::int64_t> frozen_virtual;
  /// False for left-hand amplitudes. Then the files of integrals and of the Fock matrix may be absent.
  bool integrals_needed = true;
};

/// Opens the files of NWChem's TCE module: amplitudes and integrals of `set tce:writet T` and `set tce:writeint T`, or
/// of the `save` directives, in any number of files and either storage of integrals. The source reads a block when a
/// caller asks for it; many threads may read at once. Throws InputError with one sentence that names the file and the
/// cure.
std::unique_ptr<TileSource> open_nwchem(const NwchemLocation& location);

}

#pragma GCC visibility pop
