#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tce_tiles/dump_layout.hpp"
#include "tce_tiles/dump_seal.hpp"
#include "tce_tiles/hdf5_file.hpp"

namespace trifuse {

/// A dump that is open. It is opened once, so that what is checked is what is used, also where another file has taken
/// its name meanwhile.
struct DumpFile {
  Hdf5File file;
  std::shared_ptr<DumpSeal> seal;  ///< what is read of the file is compared with it
  DumpHeader header;

  static DumpFile open(const std::string& path);

  /// Of all that is known of the file: what its attributes say, and its checksums.
  SourceDigest digest() const;

  /// The datasets with elements that amplitudes, and integrals where they are wanted, are read from.
  std::vector<std::string> datasets(bool integrals) const;
};

}  // namespace trifuse
