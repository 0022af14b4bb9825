#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5_attributes.hpp"
#include "tce_tiles/hdf5_output.hpp"

/// A thin checked layer over the HDF5 C library.
///
/// What describes the data is checked before HDF5 sees it (hdf5_structure.hpp): damage there makes HDF5 crash or hang.
/// Every failure becomes one sentence that names the file and the object and gives HDF5's innermost message: InputError
/// when reading, SystemError when writing. HDF5's own printing is off during our calls and as it was outside them. The
/// serial library is not thread-safe, so all calls of the process go through one mutex; numbers that stand in the file
/// as doubles, one after another, are read without it, by any number of threads at a time.
namespace trifuse {

class BlockSums;

/// An HDF5 identifier (hid_t) with the function that closes it.
class Hdf5Handle {
 public:
  using Closer = int (*)(std::int64_t);
  Hdf5Handle() = default;
  Hdf5Handle(std::int64_t id, Closer closer) : id_(id), closer_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Hdf5Handle() { close(); }

  std::int64_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  /// False when HDF5 could not close it.
  bool close();

 private:
  std::int64_t id_ = -1;
  Closer closer_ = nullptr;
};

/// A dataset of real numbers or integers of any HDF5 number type; it is read and written as doubles.
class Hdf5Dataset {
 public:
  const std::string& name() const { return name_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  std::int64_t size() const;  ///< number of elements
  bool is_integer() const { return is_integer_; }

  /// The box of `count` elements from `offset` on, last index fastest. Where the file has checksums for the dataset
  /// (see `Hdf5File::verify_with`), what is handed out agrees with them; InputError where the file does not.
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out) const;
  void read_all(std::span<double> out) const;
  /// Consecutive elements in C order from number `first` on, as they stand in the file now, with no checksum.
  void read_run(std::int64_t first, std::span<double> out) const;
  void write(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
             std::span<const double> values) const;

 private:
  friend class Hdf5File;
  /// Where the numbers stand in the file just as they are wanted in memory.
  struct Plain {
    int file;
    std::int64_t begin;
  };
  static std::optional<Plain> find_plain(std::int64_t file, std::int64_t dataset, std::int64_t type,
                                         std::span<const std::int64_t> shape);
  /// False where HDF5 has to read the box, or to say why there is none.
  bool read_plain(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                  std::span<double> out) const;
  void read_plain_run(std::int64_t first, std::span<double> out) const;
  void read_unverified(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> out) const;
  void transfer(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, double* into,
                const double* from) const;

  std::string path_;
  std::string name_;
  std::shared_ptr<Hdf5OutputState>
      output_;  ///< of a file that is written; before the handles, so that it outlives them
  Hdf5Handle dataset_;
  Hdf5Handle space_;
  std::vector<std::int64_t> shape_;
  bool is_integer_ = false;
  std::optional<Plain> plain_;
  std::shared_ptr<BlockSums> sums_;
};

class Hdf5File {
 public:
  /// Read-only. The sentence says whether the file is absent, unreadable, truncated or no HDF5 file at all.
  static Hdf5File open(const std::string& path);
  /// Writes an empty file that is open as `descriptor`, which the caller closes. Sentences call it `name`.
  static Hdf5File create(int descriptor, const std::string& name);
  /// A new file; an existing one is replaced without asking.
  static Hdf5File create(const std::string& path);

  const std::string& path() const { return path_; }

  /// Attributes of the root group: nothing when absent, InputError when of another type or not a single value.
  std::optional<std::string> string_attribute(const std::string& name) const;
  std::optional<std::int64_t> integer_attribute(const std::string& name) const;
  std::optional<double> real_attribute(const std::string& name) const;
  void set_attribute(const std::string& name, std::string_view value);
  void set_attribute(const std::string& name, std::int64_t value);
  void set_attribute(const std::string& name, double value);

  /// Names of the attributes of the root group that are a single string, integer or float, in ascending order.
  using AttributeType = Hdf5Attribute::Kind;
  std::vector<std::pair<std::string, AttributeType>> attributes() const;

  bool has(const std::string& name) const;
  /// Refuses a dataset whose numbers are not all in this file, or that HDF5 cannot read safely.
  Hdf5Dataset dataset(const std::string& name) const;
  /// Names of what is in a group that is there, in ascending order.
  std::vector<std::string> members(const std::string& group) const;

  /// The checksums of a dataset; null where it has none.
  using SumsFinder = std::function<std::shared_ptr<BlockSums>(const Hdf5Dataset&)>;
  /// Datasets that are opened from now on are compared with their checksums when they are read.
  void verify_with(SumsFinder finder) { sums_of_ = std::move(finder); }

  enum class Type { real, integer, word };  ///< 64 bits each; unsigned, 32 bits
  void create_group(const std::string& name);
  /// With `chunk` (same rank as `shape`) the dataset is stored in compressed chunks, else contiguously.
  Hdf5Dataset create_dataset(const std::string& name, std::span<const std::int64_t> shape, Type type,
                             std::span<const std::int64_t> chunk = {});

  /// Closes a written file; throws SystemError when data could not reach it.
  void close();

 private:
  /// Null if there is none; throws InputError if it is an array.
  const Hdf5Attribute* find_attribute(const std::string& name) const;
  /// Refuses damaged groups among those that stand before the last part of the name.
  void check_groups(const std::string& name) const;
  std::uint64_t checked_address(const std::string& name) const;
  Hdf5Handle new_attribute(const std::string& name, std::int64_t type) const;

  std::string path_;
  std::shared_ptr<const Hdf5Structure> structure_;  ///< of a file that is read
  std::map<std::string, Hdf5Attribute> attributes_;
  std::shared_ptr<Hdf5OutputState> output_;  ///< before the handle, so that it outlives it
  Hdf5Handle file_;
  SumsFinder sums_of_;
};

/// For programs, before anything else: when a process ends, HDF5 closes what damaged files have made it leave open, and
/// may complain about that on standard error. Files that were written are closed long before.
void keep_hdf5_silent_at_exit();

/// Whether the file carries HDF5's signature, truncated or not; false when it cannot be read.
bool is_hdf5(const std::string& path);

std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace trifuse
