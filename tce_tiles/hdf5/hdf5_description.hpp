#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tce_tiles/hdf5/hdf5_chunks.hpp"
#include "tce_tiles/hdf5/hdf5_numbers.hpp"
#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// Returns the name of the values of an HDF5 datatype class in error messages: "integers", "compound values ...", ...
std::string hdf5_type_text(std::uint64_t type_class);

/// The shape, the number format and the storage of a dataset.
struct Hdf5Description {
  std::vector<std::int64_t> shape;  ///< extent of each axis, in C order
  Hdf5Number number;
  /// The bytes of all numbers, the address of the first number, or the chunks. Not valid if the dataset has no
  /// elements.
  std::variant<std::string, std::uint64_t, Hdf5Chunks> storage;
};

/// Reads the description of the dataset whose object header is at `address`. `name`: name of the dataset, for error
/// messages. Throws InputError if the description is damaged, if the dataset is not completely stored in this file, or
/// if its type or storage is not supported.
Hdf5Description describe_dataset(const Hdf5Structure& structure, std::uint64_t address, const std::string& name);

}
