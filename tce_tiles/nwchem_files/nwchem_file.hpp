#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trifuse {

/// A regular file, open for reading at any position. Thread-safe. Every function throws InputError if the file is at
/// fault, or SystemError if the machine is; the sentence names the file.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Returns the size in bytes.
  std::int64_t size() const { return size_; }
  /// Fills `bytes` from byte `offset` on. The file must hold all of them.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// Reads a text file line by line, in bounded memory for any content: it cuts a line after `longest_line` bytes and
/// skips the rest of it.
class LineReader {
 public:
  static constexpr std::size_t longest_line = 4096;

  /// Opens a file. Throws InputError as `InputFile` does, or if the file is too large to be text.
  explicit LineReader(const std::string& path);
  /// Sets `line` to the next line, without its end. It is valid until the next call. Returns false at the end of the
  /// file.
  bool next(std::string_view& line);

 private:
  bool fill();

  InputFile file_;
  std::string chunk_;
  std::size_t position_ = 0;
  std::int64_t offset_ = 0;
  std::string line_;
};

}
