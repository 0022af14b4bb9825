#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trifuse {

/// The bytes of an HDF5 file. Every read is checked against the size of the file. Thread-safe.
class Hdf5Bytes {
 public:
  /// Opens the file. All reads use this one file descriptor. Throws InputError if the path is not a regular file, if
  /// the file cannot be read, or if a writer holds a lock on it.
  explicit Hdf5Bytes(std::string path);
  Hdf5Bytes(const Hdf5Bytes&) = delete;
  Hdf5Bytes& operator=(const Hdf5Bytes&) = delete;
  ~Hdf5Bytes();

  const std::string& path() const { return path_; }
  /// Returns the size of the file, bytes.
  std::uint64_t size() const { return size_; }
  /// Returns true if `count` bytes from byte `address` on lie in the file.
  bool contains(std::uint64_t address, std::uint64_t count) const {
    return address <= size_ && count <= size_ - address;
  }
  /// Returns `count` bytes from byte `address` on. Throws InputError if they do not lie in the file or cannot be read.
  /// `what` names them in the error message.
  std::string read(std::uint64_t address, std::uint64_t count, std::string_view what) const;
  /// Fills `into` with the bytes from byte `address` on. Returns null, or the reason why they cannot be read.
  const char* read_into(std::uint64_t address, std::span<char> into) const;
  /// Throws InputError: the file is damaged. `what` says in the error message what is wrong.
  [[noreturn]] void damaged(std::string_view what) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Reads a part of a file from its beginning to its end. Throws InputError ("damaged") if the part is too short or not
/// as expected.
class Hdf5Cursor {
 public:
  /// `bytes`: content of the part; its memory must outlive the cursor, and so must `file`. `what` names the part in
  /// error messages.
  Hdf5Cursor(const Hdf5Bytes& file, std::string_view bytes, std::string_view what)
      : file_(&file), bytes_(bytes), what_(what) {}

  /// Returns the number of bytes that are not read yet.
  std::size_t left() const { return bytes_.size() - at_; }
  /// Reads the next `count` bytes.
  std::string_view take(std::uint64_t count);
  /// Reads an unsigned little-endian number of `bytes` bytes, at most 8.
  std::uint64_t number(std::size_t bytes);
  void skip(std::uint64_t count) { take(count); }
  /// Skips padding: the position becomes a multiple of 8 bytes, counted from the beginning of the part.
  void align() { skip((8 - at_ % 8) % 8); }
  /// Reads the bytes of `signature`. Throws InputError if the file has other bytes there.
  void expect(std::string_view signature);
  /// Throws InputError if `sound` is false.
  void require(bool sound) const {
    if (!sound) file_->damaged(what_);
  }

 private:
  const Hdf5Bytes* file_;
  std::string_view bytes_;
  std::string what_;
  std::size_t at_ = 0;
};

}
