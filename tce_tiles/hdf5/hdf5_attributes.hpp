#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// The type and the value of an attribute.
struct Hdf5Attribute {
  enum class Kind { string, integer, real, other };
  Kind kind = Kind::other;
  std::uint64_t type_class = 0;  ///< number of its HDF5 datatype class
  bool single = true;            ///< true if it holds exactly one value
  std::string text{};            ///< the value of a string
  std::int64_t integer = 0;      ///< the value of an integer
  double real = 0.0;             ///< the value of a float or of an integer
  std::string failure{};         ///< why the value cannot be read, one sentence; else empty
};

/// The attributes of the root group of a file.
class Hdf5Attributes {
 public:
  /// Makes an object without attributes. `path`: path of the file, for error messages.
  explicit Hdf5Attributes(std::string path) : path_(std::move(path)) {}
  /// Reads the attributes of an open file. Throws InputError if they are damaged. An attribute whose value cannot be
  /// read is no error until the value is asked for.
  explicit Hdf5Attributes(const Hdf5Structure& structure);

  /// Adds an attribute, or replaces the attribute of this name.
  void set(const std::string& name, Hdf5Attribute attribute) { by_name_[name] = std::move(attribute); }

  /// Returns the value of an attribute, or nullopt if the attribute is absent. Throws InputError if the attribute has
  /// another type, does not hold a single value, or cannot be read. `real` accepts integers, too.
  std::optional<std::string> string(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::optional<double> real(const std::string& name) const;
  /// Returns the name and kind of each attribute that is a single string, integer or float. Sorted by name.
  std::vector<std::pair<std::string, Hdf5Attribute::Kind>> kinds() const;

 private:
  /// Returns an attribute; null if it is absent. Throws InputError if it does not hold a single value.
  const Hdf5Attribute* find(const std::string& name) const;
  /// Returns `member` of the attribute `name`, or nullopt if the attribute is absent. Throws InputError if its kind is
  /// not one of `kinds`: `wanted` names the type that is needed, `cure` the type to write.
  template <typename Value>
  std::optional<Value> value(const std::string& name, Value Hdf5Attribute::*member,
                             std::initializer_list<Hdf5Attribute::Kind> kinds, const char* wanted,
                             const char* cure) const;

  std::string path_;
  std::map<std::string, Hdf5Attribute> by_name_;
};

/// Returns the text before the first zero byte, without the spaces at its end.
std::string trimmed(std::string text);

}
