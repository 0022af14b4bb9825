#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tce_tiles/hdf5_structure.hpp"

/// Attributes of the root group, read without the HDF5 library. That library follows strings of variable length, which
/// stand in a heap without a checksum, wherever damaged bytes lead.
namespace trifuse {

/// An attribute as it stands in the file.
struct Hdf5Attribute {
  std::string name;
  std::uint64_t type_class = 0;
  bool variable_string = false;
  bool scalar = false;  ///< a single value
  std::string data;
};

/// Reads the message of an attribute; throws InputError where a length in it is wrong.
Hdf5Attribute parse_attribute(const Hdf5Structure& structure, std::string_view message);

/// Checks all attributes in the header of the root group, which the library decodes when it looks for one of them.
void check_attributes(const Hdf5Structure& structure);

/// The value of a string attribute of variable length.
std::string read_variable_string(const Hdf5Structure& structure, const std::string& name);

}  // namespace trifuse
