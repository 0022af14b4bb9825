#include "tce_tiles/nwchem_files/nwchem_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      throw InputError(fmt::format("The file {} does not exist; check the path.", path));
    case EACCES:
    case EPERM:
      throw InputError(
          fmt::format("The file {} is not readable for this user; change its permissions (chmod u+r).", path));
    case ELOOP:
      throw InputError(fmt::format("The file {} is a symbolic link that leads to itself; check the path.", path));
    case ENAMETOOLONG: {
      constexpr std::size_t shown = 60;
      throw InputError(fmt::format("The name {}... of {} characters is too long for a file; check the path.",
                                   path.substr(0, shown), path.size()));
    }
    default:
      throw SystemError(fmt::format("The file {} cannot be read: {}.", path, std::strerror(error)));
  }
}

}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const auto expect_regular = [this](const struct stat& status) {
    if (S_ISDIR(status.st_mode)) {
      throw InputError(fmt::format("{} is a directory, but a file is needed; check the path.", path_));
    }
    if (!S_ISREG(status.st_mode)) {
      throw InputError(fmt::format("{} is not a regular file; copy its contents to one.", path_));
    }
  };
  // The kind of file is tested before opening, because opening some devices has effects. The open does not block: if
  // the file has become a pipe meanwhile, it must not wait for the other end.
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) refuse(path_, errno);
  expect_regular(status);
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) refuse(path_, errno);
  expect_regular(status);
  size_ = static_cast<std::int64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

void InputFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(descriptor_, bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (n < 0) {
      if (errno == EINTR) continue;
      refuse(path_, errno);
    }
    if (n == 0) {
      throw InputError(
          fmt::format("The file {} ends at byte {}, but more is needed; it is truncated or was changed while being "
                      "read: copy it again.",
                      path_, offset + static_cast<std::int64_t>(done)));
    }
    done += static_cast<std::size_t>(n);
  }
}

LineReader::LineReader(const std::string& path) : file_(path) {
  constexpr std::int64_t max_bytes = std::int64_t{1} << 32;
  if (file_.size() <= max_bytes) return;
  throw InputError(
      fmt::format("The file {} has {} bytes, more than an output can have; name the right file.", path, file_.size()));
}

bool LineReader::fill() {
  constexpr std::int64_t chunk_size = 1 << 20;
  const std::int64_t count = std::min(chunk_size, file_.size() - offset_);
  if (count <= 0) return false;
  chunk_.resize(static_cast<std::size_t>(count));
  file_.read(offset_, std::as_writable_bytes(std::span<char>(chunk_)));
  offset_ += count;
  position_ = 0;
  return true;
}

bool LineReader::next(std::string_view& line) {
  line_.clear();
  bool any = false;
  while (position_ < chunk_.size() || fill()) {
    any = true;
    const std::size_t end = chunk_.find('\n', position_);
    const std::size_t stop = end == std::string::npos ? chunk_.size() : end;
    line_.append(chunk_, position_, std::min(stop - position_, longest_line - line_.size()));
    position_ = stop;
    if (end == std::string::npos) continue;
    ++position_;
    break;
  }
  if (!any) return false;
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  line = line_;
  return true;
}

}
