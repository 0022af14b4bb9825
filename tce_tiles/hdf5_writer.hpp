#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5_attributes.hpp"
#include "tce_tiles/hdf5_output.hpp"

/// New HDF5 files, written by the HDF5 C library.
///
/// Every failure becomes one SystemError, whose sentence names the file and the object and gives HDF5's innermost
/// message. HDF5's own printing is off during our calls and as it was outside them. The serial library is not
/// thread-safe, so all calls of the process go through one mutex.
namespace trifuse {

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

/// A dataset of a new file. Its numbers are doubles in memory.
class Hdf5NewDataset {
 public:
  const std::string& name() const { return name_; }
  std::span<const std::int64_t> shape() const { return shape_; }
  std::int64_t size() const;  ///< number of elements
  bool is_integer() const { return is_integer_; }

  /// The box of `count` elements from `offset` on, last index fastest.
  void write(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
             std::span<const double> values) const;
  /// Reads back consecutive elements in C order from number `first` on.
  void read_run(std::int64_t first, std::span<double> out) const;

 private:
  friend class Hdf5Writer;
  void transfer(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, double* into,
                const double* from) const;

  std::string path_;
  std::string name_;
  std::shared_ptr<Hdf5OutputState> output_;  ///< before the handles, so that it outlives them
  Hdf5Handle dataset_;
  Hdf5Handle space_;
  std::vector<std::int64_t> shape_;
  bool is_integer_ = false;
};

class Hdf5Writer {
 public:
  /// Writes an empty file that is open as `descriptor`, which the caller closes. Sentences call it `name`.
  static Hdf5Writer create(int descriptor, const std::string& name);
  /// A new file; an existing one is replaced without asking.
  static Hdf5Writer create(const std::string& path);

  const std::string& path() const { return path_; }

  /// Of the root group.
  void set_attribute(const std::string& name, std::string_view value);
  void set_attribute(const std::string& name, std::int64_t value);
  void set_attribute(const std::string& name, double value);
  /// As a reader will find them.
  const Hdf5Attributes& attributes() const { return attributes_; }

  enum class Type { real, integer, word };  ///< 64 bits each; unsigned, 32 bits
  void create_group(const std::string& name);
  /// With `chunk` (same rank as `shape`) the dataset is stored in compressed chunks, else contiguously.
  Hdf5NewDataset create_dataset(const std::string& name, std::span<const std::int64_t> shape, Type type,
                                std::span<const std::int64_t> chunk = {});

  /// Opens a dataset that was written.
  Hdf5NewDataset dataset(const std::string& name) const;

  /// Throws SystemError when data could not reach the file.
  void close();

 private:
  explicit Hdf5Writer(const std::string& path) : path_(path), attributes_(path) {}
  Hdf5Handle new_attribute(const std::string& name, std::int64_t type) const;

  std::string path_;
  Hdf5Attributes attributes_;
  std::shared_ptr<Hdf5OutputState> output_;  ///< before the handle, so that it outlives it
  Hdf5Handle file_;
};

}  // namespace trifuse
