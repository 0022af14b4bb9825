#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trifuse {

/// A regular file open for reading at any position, from any number of threads. Whatever goes wrong throws InputError
/// (or SystemError when the machine is to blame) with a sentence that names the file.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Fills `bytes` from `offset`; the file must hold all of them.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// The lines of a text file, one after the other, in bounded memory whatever the file holds: a line is cut after
/// `longest_line` bytes, the rest of it is skipped.
class LineReader {
 public:
  static constexpr std::size_t longest_line = 4096;

  /// Throws InputError for a file that is too large to be text.
  explicit LineReader(const std::string& path);
  /// The next line without its end, valid until the next call; false at the end of the file.
  bool next(std::string_view& line);

 private:
  bool fill();

  InputFile file_;
  std::string chunk_;
  std::size_t position_ = 0;
  std::int64_t offset_ = 0;
  std::string line_;
};

}  // namespace trifuse
