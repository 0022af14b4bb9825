#include "tce_tiles/hdf5/hdf5_attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_dense.hpp"
#include "tce_tiles/hdf5/hdf5_description.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t max_string_bytes = 65536;
constexpr std::uint64_t max_collection_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t max_rank = 32;

enum : std::uint64_t { integer_class = 0, float_class = 1, string_class = 3, reference_class = 7, variable_class = 9 };

struct Datatype {
  std::uint64_t type_class, size, bits;
  bool usual = true;  ///< true for a number format that this program can read
};

Datatype parse_datatype(Hdf5Cursor& in) {
  Datatype type{in.number(1) & 15U, 0, in.number(3)};
  type.size = in.number(4);
  in.require(type.size > 0);
  if (type.type_class == integer_class) {
    const std::uint64_t offset = in.number(2), precision = in.number(2);
    type.usual = offset == 0 && precision == 8 * type.size && type.size <= 8 && std::has_single_bit(type.size);
  }
  if (type.type_class == float_class) {
    in.skip(4);
    const std::uint64_t exponent_at = in.number(1);
    type.usual = (type.size == 8 && exponent_at == 52) || (type.size == 4 && exponent_at == 23);
  }
  return type;
}

/// Returns the number of elements; 2 stands for any larger number, too.
std::uint64_t parse_dataspace(const Hdf5Structure& structure, Hdf5Cursor& in) {
  const std::uint64_t version = in.number(1), rank = in.number(1);
  in.require((version == 1 || version == 2) && rank <= max_rank);
  in.skip(1);
  const std::uint64_t kind = in.number(1);
  if (version == 1) in.skip(4);
  std::uint64_t elements = version == 2 && kind == 2 ? 0 : 1;
  for (std::uint64_t k = 0; k < rank; ++k) {
    const std::uint64_t extent = in.number(structure.length_bytes());
    // It is enough to know whether there is more than one element.
    elements = extent == 0 ? 0 : std::min<std::uint64_t>(elements * std::min<std::uint64_t>(extent, 2), 2);
  }
  return elements;
}

std::string read_from_heap(const Hdf5Structure& structure, const std::string& name, std::uint64_t length,
                           std::uint64_t collection, std::uint64_t index) {
  const std::string what = fmt::format("the heap with the value of attribute '{}'", name);
  const std::size_t length_bytes = structure.length_bytes();
  const std::string front = structure.read(collection, 8 + length_bytes, what);
  Hdf5Cursor head = structure.cursor(front, what);
  head.expect({"GCOL\1", 5});
  head.skip(3);
  const std::uint64_t size = head.number(length_bytes);
  head.require(size >= front.size() && size <= max_collection_bytes && index != 0 && length <= max_string_bytes);
  const std::string heap = structure.read(collection, size, what);
  Hdf5Cursor in = structure.cursor(heap, what);
  in.skip(front.size());
  std::optional<std::string> value;
  while (in.left() >= 8 + length_bytes) {
    const std::uint64_t number = in.number(2);
    in.skip(6);
    const std::uint64_t bytes = in.number(length_bytes);
    // Object 0 is the free space at the end of the collection. Unlike other sizes, its size includes its own head.
    if (number == 0) break;
    const std::string_view object = in.take(bytes);
    in.align();
    if (number != index) continue;
    in.require(!value && length <= bytes);
    value = object.substr(0, length);
  }
  in.require(value.has_value());
  return *value;
}

/// Reads the value of a string or a number from `data`.
void read_value(const Hdf5Structure& structure, const std::string& name, const Datatype& type, std::string_view data,
                Hdf5Attribute& attribute) {
  if (attribute.kind == Hdf5Attribute::Kind::string) {
    if (type.type_class == string_class) {
      attribute.text = trimmed(std::string(data));
      return;
    }
    Hdf5Cursor in = structure.cursor(data, fmt::format("the value of attribute '{}'", name));
    const std::uint64_t length = in.number(4), collection = in.number(structure.address_bytes()), index = in.number(4);
    if (length > 0) attribute.text = trimmed(read_from_heap(structure, name, length, collection, index));
    return;
  }
  if (!type.usual) {
    throw InputError(fmt::format("{}: attribute '{}' holds a number of an unusual kind; write it with 64 bits.",
                                 structure.file().path(), name));
  }
  std::string bytes(data);
  if ((type.bits & 1U) != 0) std::reverse(bytes.begin(), bytes.end());
  const std::uint64_t word = structure.cursor(bytes, "an attribute").number(bytes.size());
  if (attribute.kind == Hdf5Attribute::Kind::real) {
    attribute.real = type.size == 8 ? std::bit_cast<double>(word)
                                    : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    return;
  }
  const bool is_signed = (type.bits & 8U) != 0;
  const auto shift = static_cast<unsigned>(64 - 8 * type.size);
  attribute.integer =
      is_signed ? static_cast<std::int64_t>(word << shift) >> shift
                : static_cast<std::int64_t>(std::min<std::uint64_t>(word, std::numeric_limits<std::int64_t>::max()));
  attribute.real = static_cast<double>(attribute.integer);
}

std::pair<std::string, Hdf5Attribute> parse_attribute(const Hdf5Structure& structure, std::string_view message) {
  Hdf5Cursor in = structure.cursor(message, "an attribute of the root group");
  const std::uint64_t version = in.number(1), flags = in.number(1);
  in.require(version >= 1 && version <= 3);
  const std::uint64_t name_bytes = in.number(2), type_bytes = in.number(2), space_bytes = in.number(2);
  if (version == 3) in.skip(1);
  const auto part = [&](std::uint64_t bytes) {
    const std::string_view taken = in.take(bytes);
    if (version == 1) in.align();
    return taken;
  };
  const std::string_view full_name = part(name_bytes);
  in.require(full_name.size() > 1 && full_name.find('\0') == full_name.size() - 1);
  std::string name(full_name.substr(0, full_name.size() - 1));
  Hdf5Cursor type_in = structure.cursor(part(type_bytes), fmt::format("the type of attribute '{}'", name));
  Hdf5Cursor space_in = structure.cursor(part(space_bytes), fmt::format("the shape of attribute '{}'", name));
  Hdf5Attribute attribute;
  if (version > 1 && flags != 0) {
    attribute.type_class = reference_class;  // the type or the shape is in another object
    return {std::move(name), std::move(attribute)};
  }
  const Datatype type = parse_datatype(type_in);
  attribute.type_class = type.type_class;
  attribute.single = parse_dataspace(structure, space_in) == 1;
  using enum Hdf5Attribute::Kind;
  if (type.type_class == integer_class) attribute.kind = integer;
  if (type.type_class == float_class) attribute.kind = real;
  if (type.type_class == string_class) attribute.kind = string;
  if (type.type_class == variable_class && (type.bits & 15U) == 1) {
    attribute.kind = string;
    attribute.type_class = string_class;
  }
  if (!attribute.single || attribute.kind == other) return {std::move(name), std::move(attribute)};
  const std::string_view data = in.take(type.size);
  try {
    read_value(structure, name, type, data, attribute);
  } catch (const InputError& error) {
    attribute.failure = error.what();
  }
  return {std::move(name), std::move(attribute)};
}

}

std::string trimmed(std::string text) {
  text.resize(std::min(text.size(), text.find('\0')));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

Hdf5Attributes::Hdf5Attributes(const Hdf5Structure& structure) : path_(structure.file().path()) {
  const auto add = [&](std::string_view message) {
    auto [name, attribute] = parse_attribute(structure, message);
    if (!by_name_.emplace(name, std::move(attribute)).second) {
      structure.file().damaged(fmt::format("there are two attributes '{}'", name));
    }
  };
  for (const Hdf5Message& message : structure.root()) {
    if (message.type == Hdf5Structure::attribute && !message.shared) add(message.data);
    if (message.type == Hdf5Structure::attribute_info) {
      for (const std::string& each : dense_messages(structure, message.data, Hdf5Dense::attributes)) add(each);
    }
  }
}

const Hdf5Attribute* Hdf5Attributes::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  if (!found->second.single) {
    throw InputError(fmt::format("{}: attribute '{}' must hold a single value; write it as a scalar.", path_, name));
  }
  return &found->second;
}

template <typename Value>
std::optional<Value> Hdf5Attributes::value(const std::string& name, Value Hdf5Attribute::*member,
                                           std::initializer_list<Hdf5Attribute::Kind> kinds, const char* wanted,
                                           const char* cure) const {
  const Hdf5Attribute* const attribute = find(name);
  if (attribute == nullptr) return std::nullopt;
  if (std::find(kinds.begin(), kinds.end(), attribute->kind) == kinds.end()) {
    throw InputError(fmt::format("{}: attribute '{}' holds {}, but {} is needed; write it as {}.", path_, name,
                                 hdf5_type_text(attribute->type_class), wanted, cure));
  }
  if (!attribute->failure.empty()) throw InputError(attribute->failure);
  return attribute->*member;
}

std::vector<std::pair<std::string, Hdf5Attribute::Kind>> Hdf5Attributes::kinds() const {
  std::vector<std::pair<std::string, Hdf5Attribute::Kind>> found;
  for (const auto& [name, attribute] : by_name_) {
    if (attribute.single && attribute.kind != Hdf5Attribute::Kind::other) found.emplace_back(name, attribute.kind);
  }
  return found;
}

std::optional<std::string> Hdf5Attributes::string(const std::string& name) const {
  return value(name, &Hdf5Attribute::text, {Hdf5Attribute::Kind::string}, "a string", "a string");
}

std::optional<std::int64_t> Hdf5Attributes::integer(const std::string& name) const {
  return value(name, &Hdf5Attribute::integer, {Hdf5Attribute::Kind::integer}, "an integer", "an integer");
}

std::optional<double> Hdf5Attributes::real(const std::string& name) const {
  return value(name, &Hdf5Attribute::real, {Hdf5Attribute::Kind::real, Hdf5Attribute::Kind::integer}, "a number",
               "a 64-bit float");
}

}
