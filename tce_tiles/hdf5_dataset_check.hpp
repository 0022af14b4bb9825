#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tce_tiles/hdf5_chunk_tree.hpp"
#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// "integers", "compound values ...": what values of a class of HDF5 datatypes are called in sentences.
std::string hdf5_type_text(std::uint64_t type_class);

/// Refuses, with one sentence, a dataset that is damaged, that is not stored in full in this file, or that the library
/// cannot read safely: a missing chunk would read as zeros, a wrong length beyond the end of memory. `address` is that
/// of its object header. Returns the chunks that the
/// caller must still look up, because only the library reads their index; that has checksums.
std::optional<Hdf5Chunks> check_dataset(const Hdf5Structure& structure, std::uint64_t address, const std::string& name);

}  // namespace trifuse
