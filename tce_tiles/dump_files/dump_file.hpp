#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dump_files/dump_seal.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

namespace trifuse {

/// The newest format version that this program can read, and the version of dumps with stored integrals.
inline constexpr std::int64_t dump_version = 2, stored_integrals_version = 1;

/// An open dump. The file is opened only once, so that a run uses the file that was checked, even if another file has
/// taken its name since.
struct DumpFile : DenseInput {
  Hdf5File file;                   ///< the file of `arrays`
  std::shared_ptr<DumpSeal> seal;  ///< the checksums that verify everything read from `file`

  /// Opens a dump. Throws InputError if the file is not a dump, or if its header or seal is damaged.
  static DumpFile open(const std::string& path);

  /// Returns a hash of the header and of all checksums that are known.
  std::optional<SourceDigest> digest() const override;
  std::unique_ptr<InputSeal> input_seal() const override;
};

}
