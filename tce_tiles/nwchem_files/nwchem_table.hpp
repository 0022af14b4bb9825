#pragma once

#include <optional>
#include <string>

#include "tce_tiles/nwchem_files/nwchem_layout.hpp"
#include "tce_tiles/nwchem_files/nwchem_movecs.hpp"
#include "tce_tiles/nwchem_files/nwchem_output.hpp"
#include "tce_tiles/nwchem_files/nwchem_payload.hpp"
#include "tce_tiles/nwchem_files/nwchem_rebuild.hpp"
#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

/// Finds the files of an NWChem calculation and its tile table.
namespace trifuse {

/// The open files of one calculation. Their tile table is not known yet.
struct NwchemTensors {
  std::string prefix;
  std::optional<NwchemPayload> f1;
  std::optional<NwchemPayload> v2;
  NwchemPayload t1;
  NwchemPayload t2;

  /// Returns the numbers of doubles in the files.
  FoundSizes sizes() const;
  /// Returns the storage of `v2`, which must exist and fit the tiles of `space`.
  V2Storage storage(const TileSpace& space) const;
};
/// Opens the files of tensors. Throws InputError if a needed file is missing or damaged.
NwchemTensors open_tensors(const NwchemLocation& location);

/// The molecular orbitals. The file is read at the first `get`: many runs do not need it, and then an outdated file
/// does no harm. A file that the user named is read by the constructor.
class NwchemOrbitals {
 public:
  NwchemOrbitals(const NwchemLocation& location, const std::string& prefix);
  /// Returns the orbitals, or null if there is no file. Throws InputError if the file is damaged.
  const NwchemMovecs* get();
  /// Returns the orbitals if they have been read, otherwise null.
  const NwchemMovecs* known() const { return movecs_ ? &*movecs_ : nullptr; }

 private:
  std::string path_;
  std::optional<NwchemMovecs> movecs_;
};

/// A tile table and its origin.
struct NwchemTable {
  TileSpace space;
  Reference reference = Reference::rhf;
  TceCalculation calculation;  ///< the other facts in the output; empty if there is no output
  std::string output;          ///< path of the output; empty if there is none
  std::string origin;          ///< for reports
};
/// Returns the table that NWChem printed, or otherwise a table rebuilt from the orbitals. Throws InputError unless the
/// table fits all files exactly.
NwchemTable find_table(const NwchemLocation& location, const NwchemTensors& files, NwchemOrbitals& orbitals);

}
