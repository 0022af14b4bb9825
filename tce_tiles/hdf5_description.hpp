#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tce_tiles/hdf5_chunks.hpp"
#include "tce_tiles/hdf5_numbers.hpp"
#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// "integers", "compound values ...": what values of a class of HDF5 datatypes are called in sentences.
std::string hdf5_type_text(std::uint64_t type_class);

/// What a dataset is and where its numbers stand.
struct Hdf5Description {
  std::vector<std::int64_t> shape;
  Hdf5Number number;
  /// The numbers themselves, the address of the first of them, or their chunks. Without elements it has no meaning.
  std::variant<std::string, std::uint64_t, Hdf5Chunks> storage;
};

/// Reads the description of the dataset whose object header is at `address`. Throws InputError, with one sentence,
/// where it is damaged, where the dataset is not stored in full in this file, or where it is stored in an unusual way.
Hdf5Description describe_dataset(const Hdf5Structure& structure, std::uint64_t address, const std::string& name);

}  // namespace trifuse
