#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_attributes.hpp"
#include "tce_tiles/hdf5/hdf5_output.hpp"

/// New HDF5 files, written by the HDF5 C library.
///
/// Every failure is a SystemError with one sentence that names the file and the object and gives the innermost message
/// of HDF5. During these calls HDF5 itself prints nothing; afterwards its setting for printing is restored. The serial
/// HDF5 library is not thread-safe, so one mutex guards all calls of the process.
namespace trifuse {

/// Owns an HDF5 identifier (hid_t). `closer`: the HDF5 function that closes it.
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
  /// Closes the identifier. Returns false if HDF5 fails to close it.
  bool close();

 private:
  std::int64_t id_ = -1;
  Closer closer_ = nullptr;
};

/// A dataset of a new file. In memory its numbers are doubles.
class Hdf5NewDataset {
 public:
  const std::string& name() const { return name_; }
  /// Returns the extent of each axis, in C order.
  std::span<const std::int64_t> shape() const { return shape_; }
  std::int64_t size() const;  ///< number of elements
  bool is_integer() const { return is_integer_; }

  /// Writes the box of `count[k]` elements along each axis k from element `offset` on. `values`: the elements of the
  /// box, in C order (last index fastest).
  void write(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
             std::span<const double> values) const;
  /// Reads back consecutive elements in C order, from element number `first` on.
  void read_piece(std::int64_t first, std::span<double> out) const;

 private:
  friend class Hdf5Writer;
  void transfer(std::span<const std::int64_t> offset, std::span<const std::int64_t> count, double* into,
                const double* from) const;

  std::string path_;
  std::string name_;
  std::shared_ptr<Hdf5OutputState> output_;  ///< declared first, because it must outlive the handles
  Hdf5Handle dataset_;
  Hdf5Handle space_;
  std::vector<std::int64_t> shape_;
  bool is_integer_ = false;
};

/// A new HDF5 file.
class Hdf5Writer {
 public:
  /// Begins an HDF5 file in the empty file that is open as `descriptor`. The caller closes `descriptor`; it may do so
  /// after this call. `name`: name of the file in error messages.
  static Hdf5Writer create(int descriptor, const std::string& name);

  const std::string& path() const { return path_; }

  /// Adds an attribute to the root group.
  void set_attribute(const std::string& name, std::string_view value);
  void set_attribute(const std::string& name, std::int64_t value);
  void set_attribute(const std::string& name, double value);
  /// Returns the attributes of the root group as a reader will find them.
  const Hdf5Attributes& attributes() const { return attributes_; }

  enum class Type { real, integer, word };  ///< 64-bit float, 64-bit signed integer, 32-bit unsigned integer
  void create_group(const std::string& name);
  /// Creates a dataset. `shape`: extent of each axis, in C order. `chunk`: extents of a chunk, as many as `shape` has;
  /// then the dataset is stored in compressed chunks. If `chunk` is empty, it is stored contiguously.
  Hdf5NewDataset create_dataset(const std::string& name, std::span<const std::int64_t> shape, Type type,
                                std::span<const std::int64_t> chunk = {});

  /// Opens a dataset that this writer has created.
  Hdf5NewDataset dataset(const std::string& name) const;

  /// Flushes and closes the file. Throws SystemError if data could not be written.
  void close();

 private:
  explicit Hdf5Writer(const std::string& path) : path_(path), attributes_(path) {}
  Hdf5Handle new_attribute(const std::string& name, std::int64_t type) const;

  std::string path_;
  Hdf5Attributes attributes_;
  std::shared_ptr<Hdf5OutputState> output_;  ///< declared first, because it must outlive the handle
  Hdf5Handle file_;
};

}
