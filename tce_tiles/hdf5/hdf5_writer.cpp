#include "tce_tiles/hdf5/hdf5_writer.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

/// Every group of HDF5 calls holds this object: only one thread calls HDF5, and HDF5 does not print.
class Library {
 public:
  Library() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Library() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex instance;
    return instance;
  }
  std::lock_guard<std::recursive_mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

hid_t stored_type(Hdf5Writer::Type type) {
  switch (type) {
    case Hdf5Writer::Type::integer:
      return H5T_STD_I64LE;
    case Hdf5Writer::Type::word:
      return H5T_STD_U32LE;
    default:
      return H5T_IEEE_F64LE;
  }
}

/// Returns the message of the innermost HDF5 function about the last failure.
std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* into) -> herr_t {
        if (depth == 0 && error->desc) *static_cast<std::string*>(into) = error->desc;
        return 0;
      },
      &text);
  // A message like "file write failed: time = <calendar line>\n, filename = ..." contains a line feed.
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "no reason given" : text;
}

/// Returns `status`. Throws SystemError if `status` is negative or if the file driver has stored a failure. `action`
/// says in the error message what was done.
std::int64_t checked_write(std::int64_t status, const Hdf5OutputState& output, const std::string& path,
                           std::string_view action) {
  if (output.error != 0) {
    throw SystemError(fmt::format("{}: {} failed ({}); check the free space and the permissions there.", path, action,
                                  std::strerror(output.error)));
  }
  if (status < 0) throw SystemError(fmt::format("{}: {} failed (HDF5: {}).", path, action, reason()));
  return status;
}

Hdf5Handle space_of_shape(std::span<const std::int64_t> shape) {
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose};
}

constexpr std::size_t chunk_cache_slots = 12289;
constexpr std::size_t chunk_cache_bytes = std::size_t{32} << 20;

Hdf5Handle dataset_access() {
  Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), chunk_cache_slots, chunk_cache_bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
}

}

bool Hdf5Handle::close() {
  if (id_ < 0) return true;
  const Library library;
  return closer_(std::exchange(id_, -1)) >= 0;
}

Hdf5Writer Hdf5Writer::create(int descriptor, const std::string& name) {
  const Library library;
  Hdf5Writer file(name);
  file.output_ = std::make_shared<Hdf5OutputState>();
  file.output_->descriptor = descriptor;
  const Hdf5Handle access(hdf5_output_access(file.output_.get()), H5Pclose);
  checked_write(access.get(), *file.output_, file.path_, "creating the file");
  // The format of HDF5 1.10 has checksums for all metadata. With older formats HDF5 itself fails on damaged files.
  checked_write(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), *file.output_, file.path_,
                "creating the file");
  file.file_ = Hdf5Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  checked_write(file.file_.get(), *file.output_, file.path_, "creating the file");
  return file;
}

void Hdf5Writer::close() {
  const Library library;
  checked_write(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), *output_, path_, "writing the file");
  checked_write(file_.close() ? 0 : -1, *output_, path_, "closing the file");
}

Hdf5Handle Hdf5Writer::new_attribute(const std::string& name, std::int64_t type) const {
  const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  Hdf5Handle attribute(H5Acreate2(file_.get(), name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  checked_write(attribute.get(), *output_, path_, "writing attribute '" + name + "'");
  return attribute;
}

void Hdf5Writer::set_attribute(const std::string& name, std::string_view value) {
  const Library library;
  // The string has a fixed size. HDF5 would store a string of variable size in a heap, which has no checksum.
  const std::string text(value);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const std::string action = "writing attribute '" + name + "'";
  checked_write(H5Tset_size(type.get(), text.size() + 1), *output_, path_, action);
  checked_write(H5Tset_cset(type.get(), H5T_CSET_UTF8), *output_, path_, action);
  attributes_.set(name, {.kind = Hdf5Attribute::Kind::string, .type_class = H5T_STRING, .text = trimmed(text)});
  const Hdf5Handle attribute = new_attribute(name, type.get());
  checked_write(H5Awrite(attribute.get(), type.get(), text.c_str()), *output_, path_, action);
}

void Hdf5Writer::set_attribute(const std::string& name, std::int64_t value) {
  const Library library;
  attributes_.set(name, {.kind = Hdf5Attribute::Kind::integer,
                         .type_class = H5T_INTEGER,
                         .integer = value,
                         .real = static_cast<double>(value)});
  const Hdf5Handle attribute = new_attribute(name, H5T_STD_I64LE);
  checked_write(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), *output_, path_,
                "writing attribute '" + name + "'");
}

void Hdf5Writer::set_attribute(const std::string& name, double value) {
  const Library library;
  attributes_.set(name, {.kind = Hdf5Attribute::Kind::real, .type_class = H5T_FLOAT, .real = value});
  const Hdf5Handle attribute = new_attribute(name, H5T_IEEE_F64LE);
  checked_write(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &value), *output_, path_,
                "writing attribute '" + name + "'");
}

void Hdf5Writer::create_group(const std::string& name) {
  const Library library;
  const Hdf5Handle group(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  checked_write(group.get(), *output_, path_, "creating group '" + name + "'");
}

Hdf5NewDataset Hdf5Writer::create_dataset(const std::string& name, std::span<const std::int64_t> shape, Type type,
                                          std::span<const std::int64_t> chunk) {
  const Library library;
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!chunk.empty()) {
    const std::vector<hsize_t> extent(chunk.begin(), chunk.end());
    for (const int status : {H5Pset_chunk(creation.get(), static_cast<int>(extent.size()), extent.data()),
                             H5Pset_shuffle(creation.get()), H5Pset_deflate(creation.get(), 1)}) {
      checked_write(status, *output_, path_, "creating dataset '" + name + "'");
    }
  }
  const Hdf5Handle access = dataset_access();
  Hdf5NewDataset result;
  result.path_ = path_;
  result.name_ = name;
  result.output_ = output_;
  result.shape_.assign(shape.begin(), shape.end());
  result.is_integer_ = type != Type::real;
  result.space_ = space_of_shape(shape);
  result.dataset_ = Hdf5Handle(H5Dcreate2(file_.get(), name.c_str(), stored_type(type), result.space_.get(),
                                          H5P_DEFAULT, creation.get(), access.get()),
                               H5Dclose);
  checked_write(result.dataset_.get(), *output_, path_, "creating dataset '" + name + "'");
  return result;
}

Hdf5NewDataset Hdf5Writer::dataset(const std::string& name) const {
  const Library library;
  const Hdf5Handle access = dataset_access();
  Hdf5NewDataset result;
  result.path_ = path_;
  result.name_ = name;
  result.output_ = output_;
  result.dataset_ = Hdf5Handle(H5Dopen2(file_.get(), name.c_str(), access.get()), H5Dclose);
  checked_write(result.dataset_.get(), *output_, path_, "opening dataset '" + name + "'");
  const Hdf5Handle type(H5Dget_type(result.dataset_.get()), H5Tclose);
  result.is_integer_ = H5Tget_class(type.get()) == H5T_INTEGER;
  result.space_ = Hdf5Handle(H5Dget_space(result.dataset_.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(result.space_.get());
  std::vector<hsize_t> extent(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(result.space_.get(), extent.data(), nullptr);
  result.shape_.assign(extent.begin(), extent.end());
  return result;
}

void Hdf5NewDataset::transfer(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, double* into,
                              const double* from) const {
  const Library library;
  const std::vector<hsize_t> start(offset.begin(), offset.end()), extent(count.begin(), count.end());
  const auto check = [&](std::int64_t status) {
    const std::string action = fmt::format("{} dataset '{}'", into != nullptr ? "reading back" : "writing", name_);
    checked_write(status, *output_, path_, action);
  };
  check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr));
  const Hdf5Handle memory = space_of_shape(count);
  check(memory.get());
  check(into != nullptr ? H5Dread(dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space_.get(), H5P_DEFAULT, into)
                        : H5Dwrite(dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space_.get(), H5P_DEFAULT, from));
}

std::int64_t Hdf5NewDataset::size() const {
  return elements_of(shape_);
}

void Hdf5NewDataset::write(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                           std::span<const double> values) const {
  if (!values.empty()) transfer(offset, count, nullptr, values.data());
}

void Hdf5NewDataset::read_piece(std::int64_t first, std::span<double> out) const {
  for_each_box_of_piece(shape_, first, std::ssize(out), [&](const auto& offset, const auto& count, std::int64_t box) {
    transfer(offset, count, out.data(), nullptr);
    out = out.subspan(static_cast<std::size_t>(box));
  });
}

}
