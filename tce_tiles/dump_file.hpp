#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tce_tiles/dump_layout.hpp"
#include "tce_tiles/dump_seal.hpp"
#include "tce_tiles/hdf5_file.hpp"

namespace trifuse {

/// An open dump. The file is opened only once, so that a run uses the file that was checked, even if another file has
/// taken its name since.
struct DumpFile {
  Hdf5File file;
  std::shared_ptr<DumpSeal> seal;  ///< the checksums that verify everything read from `file`
  DumpHeader header;

  /// Opens a dump. Throws InputError if the file is not a dump, or if its header or seal is damaged.
  static DumpFile open(const std::string& path);

  /// A hash of the header and of all checksums that are known.
  SourceDigest digest() const;

  /// The names of the non-empty arrays of the amplitudes and, if `integrals` is set, of the integrals and the Fock
  /// matrix.
  std::vector<std::string> datasets(bool integrals) const;
};

}  // namespace trifuse
