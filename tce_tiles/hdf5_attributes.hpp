#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tce_tiles/hdf5_structure.hpp"

/// Attributes of the root group, read without the HDF5 library. That library follows strings of variable length, which
/// stand in a heap without a checksum, wherever damaged bytes lead, and stumbles over damage where attributes are many.
namespace trifuse {

struct Hdf5Attribute {
  enum class Kind { string, integer, real, other };
  Kind kind = Kind::other;
  std::uint64_t type_class = 0;  ///< HDF5's class of datatypes
  bool single = true;            ///< holds one value
  std::string text{};
  std::int64_t integer = 0;
  double real = 0.0;      ///< also that of integers
  std::string failure{};  ///< the sentence for whoever wants the value, if it could not be read
};

/// By name. Throws InputError where the attributes are damaged.
std::map<std::string, Hdf5Attribute> read_attributes(const Hdf5Structure& structure);

/// What counts of a string: up to the first zero byte, without spaces at the end.
std::string trimmed(std::string text);

}  // namespace trifuse
