#include "cxx/base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"

namespace trifuse {

namespace {

/// The name of a temporary file. Its memory is never freed, so a signal handler may read the name at any time.
struct NotedName {
  std::atomic<bool> taken{false}, complete{false};
  std::array<char, PATH_MAX> path{};
};
std::array<NotedName, 16> noted_names;

/// Adds a name to the list. Returns its position; -1 if there is no room for it.
int note_name(const std::string& path) noexcept {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t n = 0; n < noted_names.size(); ++n) {
    NotedName& name = noted_names[n];
    if (name.taken.exchange(true)) continue;
    std::copy_n(path.c_str(), path.size() + 1, name.path.begin());
    name.complete = true;
    return static_cast<int>(n);
  }
  return -1;
}

void forget_name(int number) noexcept {
  if (number < 0) return;
  NotedName& name = noted_names[static_cast<std::size_t>(number)];
  name.complete = false;
  name.taken = false;
}

std::string directory_of(const std::string& path) {
  const std::filesystem::path whole(path);
  return whole.has_parent_path() ? whole.parent_path().string() : ".";
}

bool same(const struct stat& first, const struct stat& second) {
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// Flushes a file to the disk and returns true if this succeeded. Pipes and some file systems cannot flush; this counts
/// as success.
bool flushed(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/// Flushes the names of a directory's files to the disk if the file system can do that. Failures are ignored.
void flush_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

}

void remove_unfinished_outputs() noexcept {
  for (const NotedName& name : noted_names) {
    if (name.complete) ::unlink(name.path.data());
  }
}

bool lead_to_same_file(const std::string& first, const std::string& second) {
  struct stat one {
  }, other{};
  const bool found = ::stat(first.c_str(), &one) == 0;
  if (found != (::stat(second.c_str(), &other) == 0)) return false;
  if (found) return same(one, other);
  if (std::filesystem::path(first).filename() != std::filesystem::path(second).filename()) return false;
  return ::stat(directory_of(first).c_str(), &one) == 0 && ::stat(directory_of(second).c_str(), &other) == 0 &&
         same(one, other);
}

OutputFile::OutputFile(std::string path, OutputRules rules) : path_(std::move(path)), rules_(std::move(rules)) {
  expect_whole_path(path_);
  existed_ = may_replace();
  create();
  discard();
}

OutputFile::~OutputFile() {
  discard();
}

void OutputFile::fail(int error) const {
  throw SystemError(fmt::format("{} cannot be written: {}; {}.", path_, std::strerror(error), rules_.cure));
}

/// Returns false if there is no file. Throws if the rules forbid to replace the file.
bool OutputFile::may_replace() const {
  if (rules_.refuse) rules_.refuse(path_);
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) {
    if (errno == ENOENT) return false;
    fail(errno);
  }
  if (S_ISLNK(status.st_mode)) {
    throw UsageError(
        fmt::format("{}: this is a symbolic link, and outputs do not follow links; name the file itself.", path_));
  }
  // The finished file replaces the existing one. A device like /dev/null must not be replaced.
  if (!S_ISREG(status.st_mode)) {
    throw SystemError(fmt::format("{} cannot be written: it is not a regular file; {}.", path_, rules_.cure));
  }
  if (!rules_.overwrite && !(rules_.is_earlier && rules_.is_earlier(path_))) {
    throw UsageError(fmt::format("{}: {}.", path_, rules_.kept));
  }
  return true;
}

void OutputFile::create() {
  // File systems allow names of at most 255 bytes.
  constexpr std::size_t longest_stem = 200;
  constexpr int attempts = 100;
  const std::string stem = std::filesystem::path(path_).filename().string().substr(0, longest_stem);
  std::random_device random;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    std::string name = fmt::format("{}/{}.partial-{:016x}", directory_of(path_), stem, number);
    noted_ = note_name(name);  // before the file exists, so that no signal comes between
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      temporary_ = std::move(name);
      return;
    }
    const int error = errno;
    forget_temporary();
    errno = error;
    if (errno != EEXIST && errno != EINTR) break;
  }
  fail(errno);
}

int OutputFile::open() {
  create();
  return descriptor_;
}

void OutputFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget_temporary();
}

void OutputFile::forget_temporary() noexcept {
  forget_name(std::exchange(noted_, -1));
  temporary_.clear();
}

void OutputFile::write(std::string_view content) {
  if (descriptor_ < 0) create();
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor_, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written == 0 ? ENOSPC : errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::finish() {
  if (!flushed(descriptor_)) fail(errno);
  // Network file systems may report a full disk only when the file is closed.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail(errno);
  bool exists = false;
  try {
    exists = may_replace();
  } catch (const UsageError& error) {
    throw SystemError(error.what());  // not UsageError: the options were valid when the run began
  }
  if (exists && !existed_ && !rules_.overwrite) {
    throw SystemError(
        fmt::format("{}: another program made this file during the run, and it is kept; {}.", path_, rules_.cure));
  }
  if (exists) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  } else {
    take_free_name();
  }
  forget_temporary();
  flush_directory(directory_of(path_));
}

/// Renames the temporary file. Replaces no file, not even one that appears at this moment, if the file system supports
/// such a rename.
void OutputFile::take_free_name() {
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) {
    if (::link(temporary_.c_str(), path_.c_str()) == 0) {
      ::unlink(temporary_.c_str());
      return;
    }
    // The file system supports neither RENAME_NOREPLACE nor hard links. The name was free a moment ago.
    if (errno != EEXIST && ::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  }
  fail(errno);
}

}
