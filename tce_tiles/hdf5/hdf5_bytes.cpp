#include "tce_tiles/hdf5/hdf5_bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

Hdf5Bytes::Hdf5Bytes(std::string path) : path_(std::move(path)) {
  // Without O_NONBLOCK the open call of a named pipe waits for a writer.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) {
    if (errno == ENOENT) throw InputError(fmt::format("{}: this file does not exist; check the name.", path_));
    throw InputError(
        fmt::format("{}: the file cannot be read ({}); check its permissions.", path_, std::strerror(errno)));
  }
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    // The HDF5 library locks a file while it writes. On file systems without locks this check does nothing.
    if (::flock(descriptor_, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(descriptor_);
    throw InputError(fmt::format("{}: the file is in use by a writer; wait until it has finished.", path_));
  }
  ::close(descriptor_);
  if (known && S_ISDIR(status.st_mode)) {
    throw InputError(fmt::format("{}: this is a directory; name the dump file in it.", path_));
  }
  throw InputError(fmt::format("{}: this is not a regular file; name a Trifuse dump.", path_));
}

Hdf5Bytes::~Hdf5Bytes() {
  ::close(descriptor_);
}

std::string Hdf5Bytes::read(std::uint64_t address, std::uint64_t count, std::string_view what) const {
  if (!contains(address, count)) damaged(fmt::format("{} reaches beyond its end", what));
  std::string bytes(count, '\0');
  if (const char* why = read_into(address, bytes)) {
    throw InputError(fmt::format("{}: the file cannot be read ({}); write or copy it again.", path_, why));
  }
  return bytes;
}

const char* Hdf5Bytes::read_into(std::uint64_t address, std::span<char> into) const {
  // One call reads less than 2^31 bytes.
  constexpr std::size_t most = std::size_t{1} << 30;
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), std::min(into.size(), most), static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "it became shorter while it was read";
    address += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return nullptr;
}

void Hdf5Bytes::damaged(std::string_view what) const {
  throw InputError(fmt::format("{}: the file is damaged ({}); write or copy it again.", path_, what));
}

std::string_view Hdf5Cursor::take(std::uint64_t count) {
  require(count <= left());
  const std::string_view piece = bytes_.substr(at_, count);
  at_ += count;
  return piece;
}

std::uint64_t Hdf5Cursor::number(std::size_t bytes) {
  const std::string_view piece = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t k = bytes; k-- > 0;) value = value << 8 | static_cast<unsigned char>(piece[k]);
  return value;
}

void Hdf5Cursor::expect(std::string_view signature) {
  require(take(signature.size()) == signature);
}

}
