#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trifuse {

/// The bytes of an HDF5 file. Every read is checked against the size of the file. For any thread.
class Hdf5Bytes {
 public:
  /// Opens the file; all reads use this one descriptor. Throws InputError, with a sentence that says why, if the path
  /// is no regular file that can be read, or if a writer holds the lock of the file.
  explicit Hdf5Bytes(std::string path);
  Hdf5Bytes(const Hdf5Bytes&) = delete;
  Hdf5Bytes& operator=(const Hdf5Bytes&) = delete;
  ~Hdf5Bytes();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// True if `count` bytes from `address` on lie in the file.
  bool contains(std::uint64_t address, std::uint64_t count) const {
    return address <= size_ && count <= size_ - address;
  }
  /// `what` names the piece of the file in the sentence if it does not lie in the file.
  std::string read(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// Fills `into` with the bytes from `address` on. Returns null, or the reason for which they cannot be read.
  const char* read_into(std::uint64_t address, std::span<char> into) const;
  [[noreturn]] void damaged(std::string_view what) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Takes little-endian numbers from a piece of a file, one after another.
class Hdf5Cursor {
 public:
  Hdf5Cursor(const Hdf5Bytes& file, std::string_view bytes, std::string_view what)
      : file_(&file), bytes_(bytes), what_(what) {}

  std::size_t left() const { return bytes_.size() - at_; }
  std::string_view take(std::uint64_t count);
  std::uint64_t number(std::size_t bytes);
  void skip(std::uint64_t count) { take(count); }
  /// Skips padding to a multiple of 8 bytes from the beginning.
  void align() { skip((8 - at_ % 8) % 8); }
  void expect(std::string_view signature);
  void require(bool sound) const {
    if (!sound) file_->damaged(what_);
  }

 private:
  const Hdf5Bytes* file_;
  std::string_view bytes_;
  std::string what_;
  std::size_t at_ = 0;
};

}  // namespace trifuse
