#include "tce_tiles/hdf5_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <type_traits>

#include "cxx/base/error.hpp"
#include "tce_tiles/block_sums.hpp"
#include "tce_tiles/box_runs.hpp"
#include "tce_tiles/hdf5_attributes.hpp"
#include "tce_tiles/hdf5_dataset_check.hpp"

namespace trifuse {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

/// Held around every group of HDF5 calls: one thread at a time, and HDF5 neither prints nor loads plugins.
class Library {
 public:
  Library() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    // A file must not choose code that is loaded.
    H5PLget_loading_state(&plugins_);
    H5PLset_loading_state(0);
  }
  ~Library() {
    H5PLset_loading_state(plugins_);
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
  }
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
  unsigned plugins_ = 0;
};

hid_t stored_type(Hdf5File::Type type) {
  switch (type) {
    case Hdf5File::Type::integer:
      return H5T_STD_I64LE;
    case Hdf5File::Type::word:
      return H5T_STD_U32LE;
    default:
      return H5T_IEEE_F64LE;
  }
}

/// What HDF5 says about the last failure, from the innermost of its functions.
std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* into) -> herr_t {
        if (depth == 0 && error->desc) *static_cast<std::string*>(into) = error->desc;
        return 0;
      },
      &text);
  // "file write failed: time = <calendar line>\n, filename = ..." holds a line feed.
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "no reason given" : text;
}

/// HDF5's status and what the output driver has kept back from HDF5.
std::int64_t checked_write(std::int64_t status, const Hdf5OutputState& output, const std::string& path,
                           std::string_view action) {
  if (output.error != 0) {
    throw SystemError(fmt::format("{}: {} failed ({}); check the free space and the permissions there.", path, action,
                                  std::strerror(output.error)));
  }
  if (status < 0) throw SystemError(fmt::format("{}: {} failed (HDF5: {}).", path, action, reason()));
  return status;
}

std::int64_t checked_read(std::int64_t status, const std::string& path, std::string_view action) {
  if (status >= 0) return status;
  throw InputError(fmt::format("{}: {} failed (HDF5: {}); write or copy the file again.", path, action, reason()));
}

Hdf5Handle space_of_shape(std::span<const std::int64_t> shape) {
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose};
}

/// Address of the object of a link; nothing unless the link leads straight to an object of this file.
std::optional<std::uint64_t> linked_address(hid_t file, const std::string& name) {
#if H5_VERSION_GE(1, 12, 0)
  H5L_info1_t link{};
  const herr_t status = H5Lget_info1(file, name.c_str(), &link, H5P_DEFAULT);
#else
  H5L_info_t link{};
  const herr_t status = H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT);
#endif
  if (status < 0 || link.type != H5L_TYPE_HARD) return std::nullopt;
  return link.u.address;
}

/// HDF5 takes chunks that are not there for zeros.
void check_all_chunks(hid_t dataset, const Hdf5Chunks& chunks, const Hdf5Structure& structure,
                      const std::string& name) {
  std::vector<hsize_t> at(chunks.shape.size(), 0);
  for (std::uint64_t n = 0; n < chunks.count; ++n) {
    hsize_t stored = 0;
    if (H5Dget_chunk_storage_size(dataset, at.data(), &stored) < 0 || stored == 0) {
      refuse_missing_chunk(structure, name);
    }
    if (!chunks.allow(stored, 0) && !(chunks.deflate && chunks.allow(stored, std::uint64_t{1} << *chunks.deflate))) {
      structure.file().damaged(fmt::format("a chunk of dataset '{}' has a wrong size", name));
    }
    for (std::size_t k = at.size(); k-- > 0;) {
      at[k] += chunks.shape[k];
      if (at[k] < chunks.extent[k]) break;
      at[k] = 0;
    }
  }
}

constexpr std::size_t sieve_bytes = 4096;
/// Shorter runs are left to HDF5, which reads several with the gaps between them.
constexpr std::int64_t least_run = 256;
constexpr std::size_t chunk_cache_slots = 12289;
constexpr std::size_t chunk_cache_bytes = std::size_t{32} << 20;

/// Returns why these bytes could not be read, or null.
const char* read_bytes(int file, std::int64_t at, char* into, std::int64_t bytes) {
  while (bytes > 0) {
    // The system reads less than 2^31 bytes at a time.
    const ssize_t got = ::pread(file, into, static_cast<std::size_t>(std::min(bytes, std::int64_t{1} << 30)), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "it has become shorter while it was read";
    at += got;
    into += got;
    bytes -= got;
  }
  return nullptr;
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

void keep_hdf5_silent_at_exit() {
  // It fails when it is too late, and then nothing is worse than before.
  static_cast<void>(H5dont_atexit());
}

bool is_hdf5(const std::string& path) {
  // A pipe would wait for a writer, and /dev/zero has no end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);
  std::ifstream file(path, std::ios::binary);
  char head[8];
  // The superblock stands at 0 or, behind a user block, at 512, 1024, 2048, ...
  for (std::int64_t at = 0; file.seekg(at) && file.read(head, sizeof head); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(head, sizeof head) == signature) return true;
  }
  return false;
}

bool Hdf5Handle::close() {
  if (id_ < 0) return true;
  const Library library;
  return closer_(std::exchange(id_, -1)) >= 0;
}

Hdf5File Hdf5File::open(const std::string& path) {
  auto structure = std::make_shared<const Hdf5Structure>(path);
  auto attributes = read_attributes(*structure);
  const Library library;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Boxes are read in runs of at least a few kilobytes. A larger sieve buffer would read the gaps between them as well.
  H5Pset_sieve_buf_size(access.get(), sieve_bytes);
  Hdf5File file;
  file.path_ = path;
  file.structure_ = std::move(structure);
  file.attributes_ = std::move(attributes);
  file.file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.file_.valid()) {
    throw InputError(fmt::format("{}: the file is damaged or in use by a writer (HDF5: {}); write or copy it again.",
                                 path, reason()));
  }
  return file;
}

Hdf5File Hdf5File::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) throw SystemError(fmt::format("{}: creating the file failed ({}).", path, std::strerror(errno)));
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor, [](const int* it) { ::close(*it); });
  return create(descriptor, path);
}

Hdf5File Hdf5File::create(int descriptor, const std::string& name) {
  const Library library;
  Hdf5File file;
  file.path_ = name;
  file.output_ = std::make_shared<Hdf5OutputState>();
  file.output_->descriptor = descriptor;
  const Hdf5Handle access(hdf5_output_access(file.output_.get()), H5Pclose);
  // The format of HDF5 1.10 has checksums over all that describes the data; older ones let HDF5 stumble over damage.
  checked_write(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), *file.output_, file.path_,
                "creating the file");
  file.file_ = Hdf5Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  checked_write(file.file_.get(), *file.output_, file.path_, "creating the file");
  return file;
}

void Hdf5File::close() {
  const Library library;
  checked_write(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), *output_, path_, "writing the file");
  checked_write(file_.close() ? 0 : -1, *output_, path_, "closing the file");
}

void Hdf5File::check_groups(const std::string& name) const {
  if (!structure_) return;
  for (std::size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string group = name.substr(0, end);
    if (H5Lexists(file_.get(), group.c_str(), H5P_DEFAULT) <= 0) return;
    static_cast<void>(structure_->members(checked_address(group)));
  }
}

std::uint64_t Hdf5File::checked_address(const std::string& name) const {
  const std::optional<std::uint64_t> address = linked_address(file_.get(), name);
  if (address) return *address;
  throw InputError(
      fmt::format("{}: '{}' is a link to another place; store the object itself under this name.", path_, name));
}

bool Hdf5File::has(const std::string& name) const {
  const Library library;
  check_groups(name);
  return checked_read(H5Lexists(file_.get(), name.c_str(), H5P_DEFAULT), path_, "looking up '" + name + "'") > 0;
}

const Hdf5Attribute* Hdf5File::find_attribute(const std::string& name) const {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) return nullptr;
  if (!found->second.single) {
    throw InputError(fmt::format("{}: attribute '{}' must hold a single value; write it as a scalar.", path_, name));
  }
  return &found->second;
}

std::vector<std::pair<std::string, Hdf5File::AttributeType>> Hdf5File::attributes() const {
  std::vector<std::pair<std::string, AttributeType>> found;
  for (const auto& [name, attribute] : attributes_) {
    if (attribute.single && attribute.kind != Hdf5Attribute::Kind::other) found.emplace_back(name, attribute.kind);
  }
  return found;
}

std::optional<std::string> Hdf5File::string_attribute(const std::string& name) const {
  const Hdf5Attribute* const attribute = find_attribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->kind != AttributeType::string) {
    throw InputError(fmt::format("{}: attribute '{}' holds {} where a string is needed; write it as a string.", path_,
                                 name, hdf5_type_text(attribute->type_class)));
  }
  if (!attribute->failure.empty()) throw InputError(attribute->failure);
  return attribute->text;
}

std::optional<std::int64_t> Hdf5File::integer_attribute(const std::string& name) const {
  const Hdf5Attribute* const attribute = find_attribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->kind != AttributeType::integer) {
    throw InputError(fmt::format("{}: attribute '{}' holds {} where an integer is needed; write it as an integer.",
                                 path_, name, hdf5_type_text(attribute->type_class)));
  }
  if (!attribute->failure.empty()) throw InputError(attribute->failure);
  return attribute->integer;
}

std::optional<double> Hdf5File::real_attribute(const std::string& name) const {
  const Hdf5Attribute* const attribute = find_attribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->kind != AttributeType::real && attribute->kind != AttributeType::integer) {
    throw InputError(fmt::format("{}: attribute '{}' holds {} where a number is needed; write it as a 64-bit float.",
                                 path_, name, hdf5_type_text(attribute->type_class)));
  }
  if (!attribute->failure.empty()) throw InputError(attribute->failure);
  return attribute->real;
}

Hdf5Handle Hdf5File::new_attribute(const std::string& name, std::int64_t type) const {
  const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose);
  Hdf5Handle attribute(H5Acreate2(file_.get(), name.c_str(), type, scalar.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  checked_write(attribute.get(), *output_, path_, "writing attribute '" + name + "'");
  return attribute;
}

void Hdf5File::set_attribute(const std::string& name, std::string_view value) {
  const Library library;
  // Of fixed size, because a string of variable size would stand apart, in a heap without a checksum.
  const std::string text(value);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), text.size() + 1);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  attributes_[name] = {.kind = AttributeType::string, .type_class = H5T_STRING, .text = trimmed(text)};
  const Hdf5Handle attribute = new_attribute(name, type.get());
  checked_write(H5Awrite(attribute.get(), type.get(), text.c_str()), *output_, path_,
                "writing attribute '" + name + "'");
}

void Hdf5File::set_attribute(const std::string& name, std::int64_t value) {
  const Library library;
  attributes_[name] = {
      .kind = AttributeType::integer, .type_class = H5T_INTEGER, .integer = value, .real = static_cast<double>(value)};
  const Hdf5Handle attribute = new_attribute(name, H5T_STD_I64LE);
  checked_write(H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value), *output_, path_,
                "writing attribute '" + name + "'");
}

void Hdf5File::set_attribute(const std::string& name, double value) {
  const Library library;
  attributes_[name] = {.kind = AttributeType::real, .type_class = H5T_FLOAT, .real = value};
  const Hdf5Handle attribute = new_attribute(name, H5T_IEEE_F64LE);
  checked_write(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &value), *output_, path_,
                "writing attribute '" + name + "'");
}

Hdf5Dataset Hdf5File::dataset(const std::string& name) const {
  const Library library;
  if (!has(name)) throw InputError(fmt::format("{}: dataset '{}' is missing.", path_, name));
  std::optional<Hdf5Chunks> chunks;
  if (structure_) chunks = check_dataset(*structure_, checked_address(name), name);
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), chunk_cache_slots, chunk_cache_bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  Hdf5Dataset result;
  result.path_ = path_;
  result.name_ = name;
  result.dataset_ = Hdf5Handle(H5Dopen2(file_.get(), name.c_str(), access.get()), H5Dclose);
  checked_read(result.dataset_.get(), path_, "opening dataset '" + name + "'");
  if (chunks) check_all_chunks(result.dataset_.get(), *chunks, *structure_, name);
  const Hdf5Handle type(H5Dget_type(result.dataset_.get()), H5Tclose);
  result.is_integer_ = H5Tget_class(type.get()) == H5T_INTEGER;
  result.space_ = Hdf5Handle(H5Dget_space(result.dataset_.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(result.space_.get());
  std::vector<hsize_t> extent(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(result.space_.get(), extent.data(), nullptr);
  result.shape_.assign(extent.begin(), extent.end());
  result.plain_ = Hdf5Dataset::find_plain(file_.get(), result.dataset_.get(), type.get(), result.shape_);
  if (sums_of_) result.sums_ = sums_of_(result);
  return result;
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  const Library library;
  if (group == "/") return structure_->names_of_root();
  check_groups(group);
  return structure_->members(checked_address(group));
}

void Hdf5File::create_group(const std::string& name) {
  const Library library;
  const Hdf5Handle group(H5Gcreate2(file_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  checked_write(group.get(), *output_, path_, "creating group '" + name + "'");
}

Hdf5Dataset Hdf5File::create_dataset(const std::string& name, std::span<const std::int64_t> shape, Type type,
                                     std::span<const std::int64_t> chunk) {
  const Library library;
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!chunk.empty()) {
    const std::vector<hsize_t> extent(chunk.begin(), chunk.end());
    H5Pset_chunk(creation.get(), static_cast<int>(extent.size()), extent.data());
    H5Pset_shuffle(creation.get());
    H5Pset_deflate(creation.get(), 1);
  }
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), chunk_cache_slots, chunk_cache_bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
  Hdf5Dataset result;
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

std::int64_t Hdf5Dataset::size() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape_) n *= extent;
  return n;
}

std::optional<Hdf5Dataset::Plain> Hdf5Dataset::find_plain(std::int64_t file, std::int64_t dataset, std::int64_t type,
                                                          std::span<const std::int64_t> shape) {
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  if (H5Pget_layout(creation.get()) != H5D_CONTIGUOUS || H5Pget_external_count(creation.get()) != 0) return {};
  if (H5Tequal(type, H5T_NATIVE_DOUBLE) <= 0) return {};
  // Products of the extents that a damaged file claims may not fit into an integer.
  double bytes = sizeof(double);
  for (const std::int64_t extent : shape) bytes *= static_cast<double>(extent);
  if (bytes != static_cast<double>(H5Dget_storage_size(dataset))) return {};
  const haddr_t begin = H5Dget_offset(dataset);
  if (begin == HADDR_UNDEF) return {};
  const Hdf5Handle access(H5Fget_access_plist(file), H5Pclose);
  void* descriptor = nullptr;
  if (H5Pget_driver(access.get()) != H5FD_SEC2 || H5Fget_vfd_handle(file, H5P_DEFAULT, &descriptor) < 0) return {};
  const int opened = *static_cast<const int*>(descriptor);
  struct stat status {};
  if (::fstat(opened, &status) != 0 || static_cast<double>(begin) + bytes > static_cast<double>(status.st_size)) {
    return {};
  }
  return Plain{opened, static_cast<std::int64_t>(begin)};
}

bool Hdf5Dataset::read_plain(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                             std::span<double> out) const {
  if (!plain_ || !BoxRuns::inside(shape_, offset, count)) return false;
  BoxRuns runs(shape_, offset, count);
  const std::int64_t run = runs.length();
  if (run * runs.count() != std::ssize(out) || (run < least_run && runs.count() > 1)) return false;
  for (std::int64_t n = 0; n < runs.count(); ++n, runs.next()) {
    read_plain_run(runs.first(), out.subspan(static_cast<std::size_t>(n * run), static_cast<std::size_t>(run)));
  }
  return true;
}

void Hdf5Dataset::read_plain_run(std::int64_t first, std::span<double> out) const {
  constexpr auto width = static_cast<std::int64_t>(sizeof(double));
  char* const into = reinterpret_cast<char*>(out.data());
  if (const char* why = read_bytes(plain_->file, plain_->begin + first * width, into, std::ssize(out) * width)) {
    throw InputError(
        fmt::format("{}: reading dataset '{}' failed ({}); write or copy the file again.", path_, name_, why));
  }
}

void Hdf5Dataset::read_run(std::int64_t first, std::span<double> out) const {
  if (plain_) return read_plain_run(first, out);
  // Boxes that are as large as they can be, the next one where the last has ended.
  while (!out.empty()) {
    std::vector<std::int64_t> offset(shape_.size(), 0), count(shape_.size(), 1);
    std::int64_t rest = first, inside = size(), box = 1;
    for (std::size_t k = 0; k < shape_.size(); ++k) {
      inside /= shape_[k];
      offset[k] = rest / inside;
      rest %= inside;
      if (rest != 0 || std::ssize(out) < inside) continue;
      count[k] = std::min(std::ssize(out) / inside, shape_[k] - offset[k]);
      std::copy(shape_.begin() + static_cast<std::ptrdiff_t>(k) + 1, shape_.end(),
                count.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      box = count[k] * inside;
      break;
    }
    transfer(offset, count, out.data(), nullptr);
    out = out.subspan(static_cast<std::size_t>(box));
    first += box;
  }
}

void Hdf5Dataset::transfer(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, double* into,
                           const double* from) const {
  const Library library;
  std::vector<hsize_t> start(offset.begin(), offset.end());
  std::vector<hsize_t> extent(count.begin(), count.end());
  const bool reading = into != nullptr;
  const auto check = [&](std::int64_t status) {
    const std::string action = fmt::format("{} dataset '{}'", reading ? "reading" : "writing", name_);
    return reading ? checked_read(status, path_, action) : checked_write(status, *output_, path_, action);
  };
  check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr));
  const Hdf5Handle memory = space_of_shape(count);
  check(memory.get());
  check(reading ? H5Dread(dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space_.get(), H5P_DEFAULT, into)
                : H5Dwrite(dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space_.get(), H5P_DEFAULT, from));
}

void Hdf5Dataset::read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> out) const {
  if (out.empty()) return;
  if (!sums_) return read_unverified(offset, count, out);
  if (sums_->known() && BoxRuns::inside(shape_, offset, count)) return sums_->read(*this, offset, count, out);
  read_unverified(offset, count, out);
  // Who has been handed a whole array is not to meet another one later.
  if (std::ssize(out) == size()) sums_->set(sums_->compute(out), BlockSums::Origin::read);
}

void Hdf5Dataset::read_unverified(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                                  std::span<double> out) const {
  if (!read_plain(offset, count, out)) transfer(offset, count, out.data(), nullptr);
}

void Hdf5Dataset::read_all(std::span<double> out) const {
  read(std::vector<std::int64_t>(shape_.size(), 0), shape_, out);
}

void Hdf5Dataset::write(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                        std::span<const double> values) const {
  if (!values.empty()) transfer(offset, count, nullptr, values.data());
}

}  // namespace trifuse
