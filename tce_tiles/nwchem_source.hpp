#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Where NWChem's files are. Only `prefix` is needed as a rule; the rest is for files that were moved, renamed or
/// stripped down.
struct NwchemLocation {
  /// PATH/prefix of the files (the name after `start`), or a directory with the files of one calculation.
  std::string prefix;
  std::optional<std::string> output;  ///< NWChem's output; looked for beside the files if not given
  std::optional<std::string> movecs;  ///< molecular orbitals; PREFIX.movecs if not given
  /// To rebuild the tile table if there is no output; what is not given is deduced.
  std::optional<std::int64_t> tile_size;
  std::optional<std::int64_t> frozen_core;
  std::optional<std::int64_t> frozen_virtual;
  /// False for left-hand amplitudes: then the files of integrals and of the Fock matrix may be absent.
  bool integrals_needed = true;
};

/// Opens what NWChem's TCE module wrote: amplitudes and integrals of `set tce:writet T` and `set tce:writeint T`, or of
/// the `save` directives, in any number of files and either storage of integrals. Numbers are read when asked for,
/// block by block, and may be read by many threads at once. Throws InputError with one sentence that names the file and
/// the cure.
std::unique_ptr<TileSource> open_nwchem(const NwchemLocation& location);

}  // namespace trifuse
