#include "tce_tiles/hdf5_dataset_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t most_chunk_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t most_extent = std::uint64_t{1} << 40;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 56;
constexpr std::uint64_t most_rank = 32;

enum : std::uint64_t { integer_class = 0, float_class = 1 };
enum : std::uint64_t { deflate = 1, shuffle = 2, fletcher32 = 3 };
enum : std::uint64_t { compact = 0, contiguous = 1, chunked = 2, virtual_layout = 3 };
enum : std::uint64_t { single_chunk = 1, implicit_index = 2 };

class DatasetCheck {
 public:
  DatasetCheck(const Hdf5Structure& structure, std::uint64_t address, const std::string& name)
      : structure_(structure), name_(name), messages_(structure.header(address)) {}

  std::optional<Hdf5Chunks> run();

 private:
  Hdf5Cursor in(std::string_view data, std::string_view what) const {
    return structure_.cursor(data, fmt::format("the {} of dataset '{}'", what, name_));
  }
  [[noreturn]] void refuse(std::string_view why) const {
    throw InputError(fmt::format("{}: dataset '{}' {}.", structure_.file().path(), name_, why));
  }
  /// The only message of a type.
  const std::string* find(std::uint64_t type) const;
  const std::string& required(std::uint64_t type, std::string_view what) const;

  void read_type();
  void read_space();
  void read_filters();
  void check_fill_value() const;
  void check_size(std::uint64_t numbers, std::uint64_t most) const;
  void check_contiguous(std::uint64_t address, std::uint64_t bytes) const;
  std::optional<Hdf5Chunks> check_chunks(Hdf5Cursor& layout, std::uint64_t version);
  void read_chunk_shape(Hdf5Cursor& layout, std::size_t extent_bytes);
  void check_chunk_storage(std::uint64_t address) const;

  const Hdf5Structure& structure_;
  const std::string& name_;
  std::vector<Hdf5Message> messages_;
  std::uint64_t element_bytes_ = 0;
  std::uint64_t elements_ = 1;
  Hdf5Chunks chunks_;
};

const std::string* DatasetCheck::find(std::uint64_t type) const {
  const std::string* found = nullptr;
  for (const Hdf5Message& message : messages_) {
    if (message.type != type) continue;
    if (message.shared) refuse("is described in another place of the file; write it without named datatypes");
    if (found != nullptr) structure_.file().damaged(fmt::format("the description of dataset '{}'", name_));
    found = &message.data;
  }
  return found;
}

const std::string& DatasetCheck::required(std::uint64_t type, std::string_view what) const {
  const std::string* const message = find(type);
  if (message == nullptr) structure_.file().damaged(fmt::format("dataset '{}' has no {}", name_, what));
  return *message;
}

void DatasetCheck::read_type() {
  Hdf5Cursor type = in(required(Hdf5Structure::datatype, "datatype"), "datatype");
  const std::uint64_t type_class = type.number(1) & 15U, bits = type.number(3);
  element_bytes_ = type.number(4);
  if (type_class != integer_class && type_class != float_class) {
    refuse(
        fmt::format("holds {} where real numbers are needed; write it as 64-bit floats", hdf5_type_text(type_class)));
  }
  const std::uint64_t offset = type.number(2), precision = type.number(2);
  const bool whole = offset == 0 && precision == 8 * element_bytes_;
  if (type_class == integer_class) {
    const bool known = element_bytes_ == 1 || element_bytes_ == 2 || element_bytes_ == 4 || element_bytes_ == 8;
    if (!whole || !known) refuse("holds integers of an unusual size; write them with 8, 16, 32 or 64 bits");
    return;
  }
  const std::uint64_t exponent_at = type.number(1), exponent_bits = type.number(1), mantissa_at = type.number(1),
                      mantissa_bits = type.number(1), bias = type.number(4);
  constexpr std::uint64_t order_and_sign = 1, normalised = 0x20;
  const bool normal = (bits & 0xffU & ~order_and_sign) == normalised && mantissa_at == 0 && whole;
  const std::array<std::uint64_t, 5> layout = {bits >> 8, exponent_at, exponent_bits, mantissa_bits, bias};
  const bool is_double = element_bytes_ == 8 && layout == std::array<std::uint64_t, 5>{63, 52, 11, 52, 1023};
  const bool is_single = element_bytes_ == 4 && layout == std::array<std::uint64_t, 5>{31, 23, 8, 23, 127};
  if (!normal || !(is_double || is_single)) {
    refuse("holds floating-point numbers that are not IEEE ones of 32 or 64 bits; write it as 64-bit floats");
  }
}

void DatasetCheck::read_space() {
  Hdf5Cursor space = in(required(Hdf5Structure::dataspace, "shape"), "shape");
  const std::uint64_t version = space.number(1), rank = space.number(1);
  space.require((version == 1 || version == 2) && rank <= most_rank);
  space.skip(1);
  const std::uint64_t kind = space.number(1);
  if (version == 1) space.skip(4);
  if (version == 2 && kind == 2) refuse("is empty; write its numbers");
  for (std::uint64_t k = 0; k < rank; ++k) {
    chunks_.extent.push_back(space.number(structure_.length_bytes()));
    space.require(chunks_.extent.back() <= most_extent);
  }
  for (const std::uint64_t extent : chunks_.extent) {
    if (extent == 0) elements_ = 0;
  }
  for (const std::uint64_t extent : chunks_.extent) {
    if (elements_ > 0 && extent > most_elements / elements_) check_size(elements_, 0);
    elements_ *= extent;
  }
}

void DatasetCheck::check_size(std::uint64_t numbers, std::uint64_t most) const {
  if (numbers <= most) return;
  refuse(
      fmt::format("claims more numbers than this file of {} bytes can hold; it was not written in full, or the file is "
                  "damaged: write the dump again",
                  structure_.file().size()));
}

void DatasetCheck::read_filters() {
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
    pipeline.skip(4 * values + (version == 1 && values % 2 == 1 ? 4 : 0));
    if (id != deflate && id != shuffle && id != fletcher32) {
      refuse(
          fmt::format("is stored with filter {} of HDF5, which is not read here; write it uncompressed or with gzip "
                      "(filters shuffle and fletcher32 may be added)",
                      id));
    }
    std::optional<unsigned>& place = id == deflate   ? chunks_.deflate
                                     : id == shuffle ? chunks_.shuffle
                                                     : chunks_.fletcher32;
    pipeline.require(!place && values <= 4);
    place = static_cast<unsigned>(n);
  }
}

/// The library copies as many bytes as the message says.
void DatasetCheck::check_fill_value() const {
  for (const std::uint64_t type : {Hdf5Structure::old_fill_value, Hdf5Structure::fill_value}) {
    const std::string* const message = find(type);
    if (message == nullptr) continue;
    Hdf5Cursor fill = in(*message, "fill value");
    bool value = true;
    if (type == Hdf5Structure::fill_value) {
      const std::uint64_t version = fill.number(1);
      fill.require(version >= 1 && version <= 3);
      if (version < 3) fill.skip(2);
      const std::uint64_t flags = fill.number(1);
      value = version == 1 || (version == 2 ? flags != 0 : (flags & 0x20U) != 0);
    }
    if (!value) continue;
    const std::uint64_t bytes = fill.number(4);
    // -1 stands for an undefined value.
    fill.require(bytes == 0 || bytes == 0xffffffffU || bytes == element_bytes_);
    if (bytes == element_bytes_) fill.skip(bytes);
  }
}

void DatasetCheck::check_contiguous(std::uint64_t address, std::uint64_t bytes) const {
  if (elements_ == 0) return;
  if (structure_.undefined(address)) refuse("was never written; write the dump again");
  check_size(elements_ * element_bytes_, bytes);
  if (!structure_.contains(address, bytes)) {
    structure_.file().damaged(fmt::format("dataset '{}' reaches beyond its end", name_));
  }
}

std::optional<Hdf5Chunks> DatasetCheck::run() {
  const std::string* const message = find(Hdf5Structure::layout);
  if (message == nullptr) refuse("is a group or damaged; store the array itself under this name");
  Hdf5Cursor layout = in(*message, "layout");
  const std::uint64_t version = layout.number(1);
  if (version < 3) refuse("is stored as HDF5 did before 2004; write the file again with a newer HDF5");
  layout.require(version <= 5);
  const std::uint64_t kind = layout.number(1);
  if (kind == virtual_layout) refuse("is virtual, its data stand in other files; write it as a plain dataset");
  if (find(Hdf5Structure::external_files) != nullptr) {
    refuse("has its data in another file; write them into this one");
  }
  read_type();
  read_space();
  read_filters();
  check_fill_value();
  switch (kind) {
    case compact: {
      const std::uint64_t bytes = layout.number(2);
      if (elements_ > 0) layout.require(bytes == elements_ * element_bytes_);
      layout.skip(bytes);
      return {};
    }
    case contiguous: {
      const std::uint64_t address = layout.number(structure_.address_bytes());
      check_contiguous(address, layout.number(structure_.length_bytes()));
      return {};
    }
    case chunked:
      return check_chunks(layout, version);
    default:
      structure_.file().damaged(fmt::format("the layout of dataset '{}'", name_));
  }
}

void DatasetCheck::read_chunk_shape(Hdf5Cursor& layout, std::size_t extent_bytes) {
  chunks_.bytes = element_bytes_;
  for (const std::uint64_t whole : chunks_.extent) {
    const std::uint64_t extent = layout.number(extent_bytes);
    layout.require(extent > 0);
    if (extent > most_chunk_bytes / chunks_.bytes) {
      refuse("has chunks of more than 256 MiB; write it with smaller ones");
    }
    chunks_.bytes *= extent;
    chunks_.shape.push_back(extent);
    // No overflow: the number of elements is limited.
    chunks_.count *= (whole + extent - 1) / extent;
  }
  layout.require(layout.number(extent_bytes) == element_bytes_);
}

void DatasetCheck::check_chunk_storage(std::uint64_t address) const {
  if (structure_.undefined(address)) refuse("was never written; write the dump again");
  const std::uint64_t least =
      chunks_.deflate ? std::max<std::uint64_t>(chunks_.bytes / most_compression, 8) : chunks_.bytes;
  check_size(chunks_.count, structure_.file().size() / least);
}

std::optional<Hdf5Chunks> DatasetCheck::check_chunks(Hdf5Cursor& layout, std::uint64_t version) {
  const std::size_t address_bytes = structure_.address_bytes();
  if (version == 3) {
    layout.require(layout.number(1) == chunks_.extent.size() + 1);
    const std::uint64_t address = layout.number(address_bytes);
    read_chunk_shape(layout, 4);
    if (elements_ == 0) return {};
    check_chunk_storage(address);
    check_chunk_tree(structure_, name_, chunks_, address);
    return {};
  }
  const std::uint64_t flags = layout.number(1);
  layout.require(layout.number(1) == chunks_.extent.size() + 1);
  const std::uint64_t extent_bytes = layout.number(1);
  layout.require(extent_bytes >= 1 && extent_bytes <= 8);
  read_chunk_shape(layout, extent_bytes);
  if (elements_ == 0) return {};
  const std::uint64_t index = layout.number(1);
  constexpr std::array<std::uint64_t, 6> parameter_bytes = {0, 0, 0, 1, 5, 6};
  layout.require(index >= 1 && index < parameter_bytes.size());
  layout.skip(parameter_bytes[index]);
  std::uint64_t stored = chunks_.bytes, mask = 0;
  if (index == single_chunk && (flags & 2U) != 0) {
    stored = layout.number(structure_.length_bytes());
    mask = layout.number(4);
  }
  const std::uint64_t address = layout.number(address_bytes);
  check_chunk_storage(address);
  if (index == implicit_index) {
    layout.require(!chunks_.filtered());
    check_contiguous(address, chunks_.count * chunks_.bytes);
    return {};
  }
  if (index != single_chunk) return chunks_;
  layout.require(chunks_.count == 1 && structure_.contains(address, stored));
  // Chunks that are larger than the array may be stored without filters.
  const bool unfiltered = (flags & 2U) == 0;
  layout.require(unfiltered || chunks_.allow(stored, mask));
  return {};
}

}  // namespace

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
      return "values that are no numbers";
  }
}

std::optional<Hdf5Chunks> check_dataset(const Hdf5Structure& structure, std::uint64_t address,
                                        const std::string& name) {
  return DatasetCheck(structure, address, name).run();
}

}  // namespace trifuse
