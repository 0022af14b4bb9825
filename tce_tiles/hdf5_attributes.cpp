#include "tce_tiles/hdf5_attributes.hpp"

#include <fmt/format.h>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5_dense_attributes.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t most_string_bytes = 65536;
constexpr std::uint64_t most_collection_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t most_rank = 32;

enum : std::uint64_t {
  integer_class = 0,
  float_class = 1,
  string_class = 3,
  reference_class = 7,
  enum_class = 8,
  variable_class = 9
};

struct Datatype {
  std::uint64_t type_class, size;
  bool variable_string;
};

/// Reads a datatype. What the library takes for a name or a member must lie in the message.
Datatype parse_datatype(Hdf5Cursor& in, int depth = 0) {
  const std::uint64_t first = in.number(1), bits = in.number(3), size = in.number(4);
  const std::uint64_t version = first >> 4, type_class = first & 15U;
  Datatype type{type_class, size, false};
  in.require(version >= 1 && size > 0);
  switch (type_class) {
    case integer_class:
      in.skip(4);
      in.require(size <= 16);
      break;
    case float_class:
      in.skip(12);
      in.require(size <= 16);
      break;
    case string_class:
    case reference_class:
      break;
    case enum_class: {
      in.require(depth == 0);
      const Datatype of = parse_datatype(in, depth + 1);
      in.require(of.type_class == integer_class && of.size == size);
      for (std::uint64_t n = 0; n < (bits & 0xffffU); ++n) {
        std::size_t length = 1;
        while (in.number(1) != 0) ++length;
        if (version < 3) in.skip((8 - length % 8) % 8);
      }
      in.skip((bits & 0xffffU) * size);
      break;
    }
    case variable_class:
      in.require(depth == 0 && (bits & 15U) <= 1);
      type.variable_string = (bits & 15U) == 1;
      parse_datatype(in, depth + 1);
      break;
    default:
      in.skip(in.left());
  }
  return type;
}

/// The number of elements, or nothing where there are none on purpose.
std::uint64_t parse_dataspace(const Hdf5Structure& structure, Hdf5Cursor& in) {
  const std::uint64_t version = in.number(1), rank = in.number(1);
  in.require((version == 1 || version == 2) && rank <= most_rank);
  in.skip(1);
  const std::uint64_t kind = in.number(1);
  if (version == 1) in.skip(4);
  std::uint64_t elements = version == 2 && kind == 2 ? 0 : 1;
  for (std::uint64_t k = 0; k < rank; ++k) {
    const std::uint64_t extent = in.number(structure.length_bytes());
    in.require(extent <= most_string_bytes && elements * extent <= most_string_bytes);
    elements *= extent;
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
  head.require(size >= front.size() && size <= most_collection_bytes && index != 0 && length <= most_string_bytes);
  const std::string heap = structure.read(collection, size, what);
  Hdf5Cursor in = structure.cursor(heap, what);
  in.skip(front.size());
  std::optional<std::string> value;
  while (in.left() >= 8 + length_bytes) {
    const std::uint64_t number = in.number(2);
    in.skip(6);
    const std::uint64_t bytes = in.number(length_bytes);
    // Free space ends the collection, and its size counts its own head.
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

}  // namespace

Hdf5Attribute parse_attribute(const Hdf5Structure& structure, std::string_view message) {
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
  const std::string_view name = part(name_bytes);
  in.require(!name.empty() && name.find('\0') == name.size() - 1);
  Hdf5Attribute attribute;
  attribute.name = name.substr(0, name.size() - 1);
  Hdf5Cursor type_in = structure.cursor(part(type_bytes), fmt::format("the type of attribute '{}'", attribute.name));
  Hdf5Cursor space_in = structure.cursor(part(space_bytes), fmt::format("the shape of attribute '{}'", attribute.name));
  attribute.data = in.take(in.left());
  if (version > 1 && flags != 0) {
    attribute.type_class = ~std::uint64_t{0};
    return attribute;
  }
  const Datatype type = parse_datatype(type_in);
  attribute.type_class = type.type_class;
  attribute.variable_string = type.variable_string;
  const std::uint64_t elements = parse_dataspace(structure, space_in);
  attribute.scalar = elements == 1;
  in.require(type.size <= most_string_bytes && elements * type.size <= attribute.data.size());
  return attribute;
}

void check_attributes(const Hdf5Structure& structure) {
  for (const Hdf5Message& message : structure.root()) {
    if (message.type != Hdf5Structure::attribute || message.shared) continue;
    const Hdf5Attribute attribute = parse_attribute(structure, message.data);
    switch (attribute.type_class) {
      case integer_class:
      case float_class:
      case string_class:
      case reference_class:
      case enum_class:
      case variable_class:
        continue;
      default:
        if (!structure.old_root()) continue;
        throw InputError(
            fmt::format("{}: attribute '{}' of the root group is of a type that cannot be checked in this "
                        "old file format; leave it out, or write the file with libver='v110'.",
                        structure.file().path(), attribute.name));
    }
  }
}

std::string read_variable_string(const Hdf5Structure& structure, const std::string& name) {
  std::optional<Hdf5Attribute> found;
  const auto consider = [&](std::string_view message) {
    Hdf5Attribute attribute = parse_attribute(structure, message);
    if (attribute.name != name) return;
    if (found) structure.file().damaged(fmt::format("there are two attributes '{}'", name));
    found = std::move(attribute);
  };
  for (const Hdf5Message& message : structure.root()) {
    if (message.type == Hdf5Structure::attribute && !message.shared) consider(message.data);
    if (message.type == Hdf5Structure::attribute_info) {
      for (const std::string& each : dense_attributes(structure, message.data)) consider(each);
    }
  }
  if (!found || !found->variable_string || !found->scalar) {
    throw InputError(
        fmt::format("{}: attribute '{}' is stored in a way that is not supported; write it as a string of "
                    "fixed length.",
                    structure.file().path(), name));
  }
  Hdf5Cursor in = structure.cursor(found->data, fmt::format("the value of attribute '{}'", name));
  const std::uint64_t length = in.number(4), collection = in.number(structure.address_bytes()), index = in.number(4);
  if (length == 0) return {};
  std::string value = read_from_heap(structure, name, length, collection, index);
  value.resize(std::min(value.size(), value.find('\0')));
  return value;
}

}  // namespace trifuse
