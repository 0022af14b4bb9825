#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Dense arrays with names, from a file or from memory. The checks and the reading of dumps know only this interface.
namespace trifuse {

/// The words of messages about dense arrays. They depend on where the arrays come from.
struct ArrayWords {
  const char* array;  ///< one array: "dataset" or "array"
  const char* write;  ///< what the user does to correct an array: "write" or "pass"
  const char* all;    ///< all arrays together: "dump" or "set of arrays"
  const char* place;  ///< what may be damaged: "file" or "array"
};

/// Names an array in messages.
struct ArrayLabel {
  std::string path;  ///< path of the file, or the name of the caller
  std::string name;  ///< name of the array, e.g. `t2`
  ArrayWords words;

  /// Returns the beginning of a message: path, kind and name, e.g. "c.h5: dataset 't2'".
  std::string text() const { return path + ": " + words.array + " '" + name + "'"; }
};

/// The elements of an array of rank 4 in memory.
struct StridedView {
  const double* data;                  ///< element [0,0,0,0]
  std::array<std::int64_t, 4> stride;  ///< distance of neighbours along each axis, in elements
};

/// The elements of an array of rank 4 in the memory of a GPU. All GPU work that writes them has ended.
struct DeviceView {
  int device;  ///< number of the GPU, as CUDA counts
  StridedView elements;
};

/// One dense array of floats or integers. Thread-safe.
class DenseArray {
 public:
  explicit DenseArray(ArrayLabel label) : label_(std::move(label)) {}
  DenseArray(const DenseArray&) = delete;
  DenseArray& operator=(const DenseArray&) = delete;
  virtual ~DenseArray() = default;

  const ArrayLabel& label() const { return label_; }
  const std::string& name() const { return label_.name; }
  /// Returns the extent of each axis, in C order.
  virtual std::span<const std::int64_t> shape() const = 0;
  /// Returns the shape as text for messages, e.g. "[3,4]".
  virtual std::string text_of_shape() const;
  std::int64_t size() const;  ///< number of elements
  virtual bool is_integer() const = 0;
  /// Reads into `out`, in C order, the box that begins at element `offset` and has `count[k]` elements along axis k.
  /// `out` must have as many elements as the box. Throws InputError if the elements cannot be read.
  virtual void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                    std::span<double> out) const = 0;
  /// Reads all elements in C order.
  void read_all(std::span<double> out) const;

  /// The fastest way to read many small boxes.
  enum class Access {
    strips,  ///< to read boxes that span the whole last axis, and to keep them
    planes,  ///< to read boxes that span the last two axes, and to keep them
    boxes,   ///< to read each box alone: the elements are in memory
  };
  virtual Access access() const { return Access::strips; }
  /// Returns the elements if the array has rank 4 and is in memory as 64-bit floats; else nullopt.
  virtual std::optional<StridedView> view() const { return std::nullopt; }
  /// Returns the elements if the array has rank 4 and the caller holds it on a GPU; else nullopt. The functions above
  /// work for such an array, too: the first call copies it to the host.
  virtual std::optional<DeviceView> device_view() const { return std::nullopt; }

 private:
  const ArrayLabel label_;
};

/// A set of dense arrays with different names. Thread-safe.
class DenseArrays {
 public:
  virtual ~DenseArrays() = default;
  /// Returns the path of the file or the name of the caller, for messages.
  virtual const std::string& path() const = 0;
  virtual ArrayWords words() const = 0;
  /// Returns true if there is an array of this name.
  virtual bool has(const std::string& name) const = 0;
  /// Throws InputError if the array is absent or cannot be read.
  virtual std::shared_ptr<const DenseArray> array(const std::string& name) const = 0;
  /// Returns the label of an array, which may be absent.
  ArrayLabel label(const std::string& name) const { return {path(), name, words()}; }
};

/// Returns the distance in memory from element [0,0,...] of an array to its element with the lowest address, at most 0.
/// Returns nullopt if the array does not fill its memory without gaps. `stride`: see StridedView.
std::optional<std::int64_t> begin_without_gaps(std::span<const std::int64_t> shape,
                                               std::span<const std::int64_t> stride);

}
