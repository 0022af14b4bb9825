#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5_structure.hpp"

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

/// The attributes of the root group of a file.
class Hdf5Attributes {
 public:
  /// `path`: of the file, for sentences.
  explicit Hdf5Attributes(std::string path) : path_(std::move(path)) {}
  /// Of a file that is read. Throws InputError where the attributes are damaged.
  explicit Hdf5Attributes(const Hdf5Structure& structure);

  void set(const std::string& name, Hdf5Attribute attribute) { by_name_[name] = std::move(attribute); }

  /// Nothing if the attribute is absent; throws InputError if it is of another type, not a single value, or damaged.
  std::optional<std::string> string(const std::string& name) const;
  std::optional<std::int64_t> integer(const std::string& name) const;
  std::optional<double> real(const std::string& name) const;
  /// Names of the attributes that are a single string, integer or float, in ascending order.
  std::vector<std::pair<std::string, Hdf5Attribute::Kind>> kinds() const;

 private:
  /// Null if there is none; throws InputError if it is an array.
  const Hdf5Attribute* find(const std::string& name) const;
  [[noreturn]] void wrong_kind(const std::string& name, const Hdf5Attribute& attribute, const char* wanted,
                               const char* cure) const;

  std::string path_;
  std::map<std::string, Hdf5Attribute> by_name_;
};

/// What counts of a string: up to the first zero byte, without spaces at the end.
std::string trimmed(std::string text);

}  // namespace trifuse
