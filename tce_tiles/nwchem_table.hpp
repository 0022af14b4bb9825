#pragma once

#include <optional>
#include <string>

#include "tce_tiles/nwchem_layout.hpp"
#include "tce_tiles/nwchem_movecs.hpp"
#include "tce_tiles/nwchem_output.hpp"
#include "tce_tiles/nwchem_payload.hpp"
#include "tce_tiles/nwchem_rebuild.hpp"
#include "tce_tiles/nwchem_source.hpp"
#include "tce_tiles/tile_space.hpp"

/// From files on disk to a tile table: which files there are, and what they are cut into.
namespace trifuse {

/// The files of one calculation, opened but not yet understood.
struct NwchemTensors {
  std::string prefix;
  std::optional<NwchemPayload> f1;
  std::optional<NwchemPayload> v2;
  NwchemPayload t1;
  NwchemPayload t2;

  FoundSizes sizes() const;
  /// Of `v2`, which must be there and fit the tiles.
  V2Storage storage(const TileSpace& space) const;
};
NwchemTensors open_tensors(const NwchemLocation& location);

/// The molecular orbitals, read when first needed: many runs do without, and a stale file then does no harm. A file
/// that the user named is read in any case.
class NwchemOrbitals {
 public:
  NwchemOrbitals(const NwchemLocation& location, const std::string& prefix);
  /// Null if there are none.
  const NwchemMovecs* get();
  const NwchemMovecs* known() const { return movecs_ ? &*movecs_ : nullptr; }

 private:
  std::string path_;
  std::optional<NwchemMovecs> movecs_;
};

/// A tile table and where it is from.
struct NwchemTable {
  TileSpace space;
  Reference reference = Reference::rhf;
  TceCalculation calculation;  ///< what the output says besides; empty if there is none
  std::string output;          ///< path, empty if there is none
  std::string origin;
};
/// The table that NWChem printed, or else the one rebuilt from the orbitals. Throws InputError unless it fits all files
/// exactly.
NwchemTable find_table(const NwchemLocation& location, const NwchemTensors& files, NwchemOrbitals& orbitals);

}  // namespace trifuse
