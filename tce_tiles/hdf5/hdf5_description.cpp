#include "tce_tiles/hdf5/hdf5_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t max_chunk_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t max_extent = std::uint64_t{1} << 40;
constexpr std::uint64_t max_elements = std::uint64_t{1} << 56;
constexpr std::uint64_t max_rank = 32;

enum : std::uint64_t { integer_class = 0, float_class = 1 };
enum : std::uint64_t { deflate = 1, shuffle = 2, fletcher32 = 3 };
enum : std::uint64_t { compact = 0, contiguous = 1, chunked = 2, virtual_layout = 3 };
/// Flags of chunks in the layout message.
enum : std::uint64_t { partial_unfiltered = 1, single_filtered = 2 };

class DatasetReader {
 public:
  DatasetReader(const Hdf5Structure& structure, std::uint64_t address, const std::string& name)
      : structure_(structure), name_(name), messages_(structure.header(address)) {}

  Hdf5Description run();

 private:
  Hdf5Cursor in(std::string_view data, std::string_view what) const {
    return structure_.cursor(data, fmt::format("the {} of dataset '{}'", what, name_));
  }
  [[noreturn]] void refuse(std::string_view why) const {
    throw InputError(fmt::format("{}: dataset '{}' {}.", structure_.file().path(), name_, why));
  }
  /// Returns the message of a type; null if there is none. Throws InputError if there are several, or if the message is
  /// shared.
  const std::string* find(std::uint64_t type) const;
  const std::string& required(std::uint64_t type, std::string_view what) const;

  void read_type();
  void read_space();
  void read_filters();
  void check_size(std::uint64_t numbers, std::uint64_t most) const;
  void check_contiguous(std::uint64_t address, std::uint64_t bytes) const;
  Hdf5Chunks read_chunks(Hdf5Cursor& layout, std::uint64_t version);
  void read_chunk_shape(Hdf5Cursor& layout, std::size_t extent_bytes);
  void check_chunk_storage(std::uint64_t address) const;

  const Hdf5Structure& structure_;
  const std::string& name_;
  std::vector<Hdf5Message> messages_;
  Hdf5Number number_;
  std::uint64_t elements_ = 1;
  Hdf5Chunks chunks_;
};

const std::string* DatasetReader::find(std::uint64_t type) const {
  const std::string* found = nullptr;
  for (const Hdf5Message& message : messages_) {
    if (message.type != type) continue;
    if (message.shared)
      refuse("has a type that is stored in another place of the file; write it without named datatypes");
    if (found != nullptr) structure_.file().damaged(fmt::format("the description of dataset '{}'", name_));
    found = &message.data;
  }
  return found;
}

const std::string& DatasetReader::required(std::uint64_t type, std::string_view what) const {
  const std::string* const message = find(type);
  if (message == nullptr) structure_.file().damaged(fmt::format("dataset '{}' has no {}", name_, what));
  return *message;
}

void DatasetReader::read_type() {
  Hdf5Cursor type = in(required(Hdf5Structure::datatype, "datatype"), "datatype");
  const std::uint64_t type_class = type.number(1) & 15U, bits = type.number(3);
  number_.bytes = type.number(4);
  number_.big_endian = (bits & 1U) != 0;
  if (type_class != integer_class && type_class != float_class) {
    refuse(fmt::format("holds {}, but real numbers are needed; write it as 64-bit floats", hdf5_type_text(type_class)));
  }
  const std::uint64_t offset = type.number(2), precision = type.number(2);
  const bool whole = offset == 0 && precision == 8 * number_.bytes;
  if (type_class == integer_class) {
    const bool known = number_.bytes == 1 || number_.bytes == 2 || number_.bytes == 4 || number_.bytes == 8;
    if (!whole || !known) refuse("holds integers of an unusual size; write them with 8, 16, 32 or 64 bits");
    number_.kind = (bits & 8U) != 0 ? Hdf5Number::Kind::integer : Hdf5Number::Kind::natural;
    return;
  }
  const std::uint64_t exponent_at = type.number(1), exponent_bits = type.number(1), mantissa_at = type.number(1),
                      mantissa_bits = type.number(1), bias = type.number(4);
  constexpr std::uint64_t order_and_sign = 1, normalised = 0x20;
  const bool normal = (bits & 0xffU & ~order_and_sign) == normalised && mantissa_at == 0 && whole;
  const std::array<std::uint64_t, 5> layout = {bits >> 8, exponent_at, exponent_bits, mantissa_bits, bias};
  const bool is_double = number_.bytes == 8 && layout == std::array<std::uint64_t, 5>{63, 52, 11, 52, 1023};
  const bool is_single = number_.bytes == 4 && layout == std::array<std::uint64_t, 5>{31, 23, 8, 23, 127};
  if (!normal || !(is_double || is_single)) {
    refuse("holds floating-point numbers that are not IEEE numbers of 32 or 64 bits; write it as 64-bit floats");
  }
}

void DatasetReader::read_space() {
  Hdf5Cursor space = in(required(Hdf5Structure::dataspace, "shape"), "shape");
  const std::uint64_t version = space.number(1), rank = space.number(1);
  space.require((version == 1 || version == 2) && rank <= max_rank);
  const std::uint64_t flags = space.number(1), kind = space.number(1);
  if (version == 1) space.skip(4);
  if (version == 2 && kind == 2) refuse("is empty; write its numbers");
  for (std::uint64_t k = 0; k < rank; ++k) {
    chunks_.extent.push_back(space.number(structure_.length_bytes()));
    space.require(chunks_.extent.back() <= max_extent);
  }
  chunks_.most = chunks_.extent;
  if ((flags & 1U) != 0) {
    const std::uint64_t none = unlimited >> (64 - 8 * structure_.length_bytes());
    for (std::size_t k = 0; k < rank; ++k) {
      const std::uint64_t most = space.number(structure_.length_bytes());
      space.require(most >= chunks_.extent[k]);
      chunks_.most[k] = most == none ? unlimited : most;
    }
  }
  for (const std::uint64_t extent : chunks_.extent) {
    if (extent == 0) elements_ = 0;
  }
  for (const std::uint64_t extent : chunks_.extent) {
    if (elements_ > 0 && extent > max_elements / elements_) check_size(elements_, 0);
    elements_ *= extent;
  }
}

void DatasetReader::check_size(std::uint64_t numbers, std::uint64_t most) const {
  if (numbers <= most) return;
  refuse(
      fmt::format("claims more numbers than this file of {} bytes can hold; it was not written in full, or the file is "
                  "damaged: write the dump again",
                  structure_.file().size()));
}

void DatasetReader::read_filters() {
  const std::string* const message = find(Hdf5Structure::filters);
  if (message == nullptr) return;
  Hdf5Cursor pipeline = in(*message, "filters");
  const std::uint64_t version = pipeline.number(1), count = pipeline.number(1);
  pipeline.require((version == 1 || version == 2) && count <= 32);
  if (version == 1) pipeline.skip(6);
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t id = pipeline.number(2);
    const std::uint64_t name_bytes = version == 1 || id >= 256 ? pipeline.number(2) : 0;
    pipeline.skip(2);
    const std::uint64_t values = pipeline.number(2);
    pipeline.skip(version == 1 ? (name_bytes + 7) / 8 * 8 : name_bytes);
    const std::uint64_t first = values > 0 ? pipeline.number(4) : 0;
    if (values > 1) pipeline.skip(4 * (values - 1));
    if (version == 1 && values % 2 == 1) pipeline.skip(4);
    if (id != deflate && id != shuffle && id != fletcher32) {
      refuse(
          fmt::format("is stored with filter {} of HDF5, which Trifuse does not read; write it uncompressed or with "
                      "gzip (filters shuffle and fletcher32 may be added)",
                      id));
    }
    const auto kind = id == deflate   ? Hdf5Filter::Kind::deflate
                      : id == shuffle ? Hdf5Filter::Kind::shuffle
                                      : Hdf5Filter::Kind::fletcher32;
    pipeline.require(!chunks_.has(kind) && (id != shuffle || first > 0));
    chunks_.filters.push_back({kind, first});
  }
}

void DatasetReader::check_contiguous(std::uint64_t address, std::uint64_t bytes) const {
  if (elements_ == 0) return;
  if (structure_.undefined(address)) refuse("was never written; write the dump again");
  check_size(elements_ * number_.bytes, bytes);
  if (!structure_.contains(address, bytes)) {
    structure_.file().damaged(fmt::format("dataset '{}' reaches beyond its end", name_));
  }
}

Hdf5Description DatasetReader::run() {
  const std::string* const message = find(Hdf5Structure::layout);
  if (message == nullptr) refuse("is a group or damaged; store the array itself under this name");
  Hdf5Cursor layout = in(*message, "layout");
  const std::uint64_t version = layout.number(1);
  if (version < 3) refuse("has the storage layout of HDF5 before 2004; write the file again with a newer HDF5");
  layout.require(version <= 5);
  const std::uint64_t kind = layout.number(1);
  if (kind == virtual_layout) refuse("is virtual: its data are in other files; write it as a plain dataset");
  if (find(Hdf5Structure::external_files) != nullptr) {
    refuse("has its data in another file; write the data into this file");
  }
  read_type();
  read_space();
  read_filters();
  Hdf5Description found{{chunks_.extent.begin(), chunks_.extent.end()}, number_, {}};
  switch (kind) {
    case compact: {
      const std::uint64_t bytes = layout.number(2);
      if (elements_ > 0) layout.require(bytes == elements_ * number_.bytes);
      found.storage = std::string(layout.take(bytes));
      break;
    }
    case contiguous: {
      const std::uint64_t address = layout.number(structure_.address_bytes());
      check_contiguous(address, layout.number(structure_.length_bytes()));
      found.storage = address;
      break;
    }
    case chunked:
      found.storage = read_chunks(layout, version);
      break;
    default:
      structure_.file().damaged(fmt::format("the layout of dataset '{}'", name_));
  }
  return found;
}

void DatasetReader::read_chunk_shape(Hdf5Cursor& layout, std::size_t extent_bytes) {
  chunks_.bytes = number_.bytes;
  for (const std::uint64_t whole : chunks_.extent) {
    const std::uint64_t extent = layout.number(extent_bytes);
    layout.require(extent > 0);
    if (extent > max_chunk_bytes / chunks_.bytes) {
      refuse("has chunks of more than 256 MiB; write it with smaller chunks");
    }
    chunks_.bytes *= extent;
    chunks_.shape.push_back(extent);
    // This does not overflow, because the number of elements is limited.
    chunks_.count *= (whole + extent - 1) / extent;
  }
  layout.require(layout.number(extent_bytes) == number_.bytes);
}

void DatasetReader::check_chunk_storage(std::uint64_t address) const {
  if (structure_.undefined(address)) refuse("was never written; write the dump again");
  const std::uint64_t least = chunks_.has(Hdf5Filter::Kind::deflate)
                                  ? std::max<std::uint64_t>(chunks_.bytes / max_compression, 8)
                                  : chunks_.bytes;
  check_size(chunks_.count, structure_.file().size() / least);
}

Hdf5Chunks DatasetReader::read_chunks(Hdf5Cursor& layout, std::uint64_t version) {
  const std::size_t address_bytes = structure_.address_bytes();
  const bool old = version == 3;
  const std::uint64_t flags = old ? 0 : layout.number(1);
  layout.require(layout.number(1) == chunks_.extent.size() + 1);
  Hdf5ChunkIndex index{};
  if (old) index.address = layout.number(address_bytes);
  const std::uint64_t extent_bytes = old ? 4 : layout.number(1);
  layout.require(extent_bytes >= 1 && extent_bytes <= 8);
  read_chunk_shape(layout, extent_bytes);
  if (elements_ == 0) return std::move(chunks_);
  if (!old) {
    chunks_.partial_unfiltered = (flags & partial_unfiltered) != 0;
    index.kind = layout.number(1);
    constexpr std::array<std::uint64_t, 6> parameter_bytes = {0, 0, 0, 1, 5, 6};
    layout.require(index.kind >= 1 && index.kind < parameter_bytes.size());
    layout.skip(parameter_bytes[index.kind]);
    index.only.stored = chunks_.bytes;
    if (index.kind == Hdf5ChunkIndex::single && (flags & single_filtered) != 0) {
      index.only.stored = layout.number(structure_.length_bytes());
      index.only.skipped = layout.number(4);
    }
    index.address = layout.number(address_bytes);
  }
  check_chunk_storage(index.address);
  Hdf5ChunkList list(structure_, name_, chunks_);
  old ? read_chunk_tree(structure_, list, index.address) : read_chunk_index(structure_, list, index);
  list.finish();
  return std::move(chunks_);
}

}

std::string hdf5_type_text(std::uint64_t type_class) {
  switch (type_class) {
    case 0:
      return "integers";
    case 1:
      return "floating-point numbers";
    case 3:
      return "strings";
    case 6:
      return "compound values (complex numbers are stored so)";
    case 8:
      return "enumerated values (booleans are stored so)";
    default:
      return "values that are not numbers";
  }
}

Hdf5Description describe_dataset(const Hdf5Structure& structure, std::uint64_t address, const std::string& name) {
  return DatasetReader(structure, address, name).run();
}

}
