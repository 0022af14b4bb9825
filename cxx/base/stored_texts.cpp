#include "cxx/base/stored_texts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "cxx/base/output_file.hpp"

namespace trifuse {

namespace {

using Texts = std::map<std::string, std::string>;

constexpr std::string_view head = "Texts of Trifuse, version 1\n";
constexpr const char* cure = "name another folder in TRIFUSE_CACHE";

/// The last line of a file. Without it the file is not complete.
std::string last_line(std::size_t count) {
  return fmt::format("end of {} texts\n", count);
}

/// An open file, which the destructor closes.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// Returns the bytes of a file. Sets `damage` to the reason why they cannot be read; a file that does not exist is
/// empty.
std::string bytes_of(const std::string& path, std::string& damage) {
  constexpr std::size_t most = std::size_t{16} << 20;
  const Descriptor file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);  // a pipe does not block
  const auto fail = [&](const char* why) {
    damage = why;
    return std::string();
  };
  if (file.number() < 0) return errno == ENOENT || errno == ENOTDIR ? std::string() : fail(std::strerror(errno));
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("it is not a regular file");
  std::string bytes(std::min(most, static_cast<std::size_t>(status.st_size)) + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file.number(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(std::strerror(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return size > most ? fail("it is too large") : size == 0 ? fail("it is empty") : bytes;
}

/// Returns the texts of a whole file; nullopt if one byte is not as change_texts() writes it.
std::optional<Texts> texts_in(std::string_view bytes) {
  if (!bytes.starts_with(head)) return std::nullopt;
  bytes.remove_prefix(head.size());
  Texts texts;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const std::string_view line = bytes.substr(0, end);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) break;
    const auto printable = [](char letter) { return letter >= ' ' && letter <= '~'; };
    const std::string_view key = line.substr(0, tab), text = line.substr(tab + 1);
    if (key.empty() || text.empty() || !std::all_of(key.begin(), key.end(), printable) ||
        !std::all_of(text.begin(), text.end(), printable) || !texts.emplace(key, text).second) {
      return std::nullopt;
    }
    bytes.remove_prefix(end + 1);
  }
  return bytes == last_line(texts.size()) ? std::optional(std::move(texts)) : std::nullopt;
}

void make_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) throw SystemError(fmt::format("{} cannot be made: {}; {}.", folder.string(), error.message(), cure));
}

}

std::string cache_folder() {
  if (const char* const folder = std::getenv("TRIFUSE_CACHE")) return folder;
  // XDG_CACHE_HOME has no meaning if it is not an absolute path.
  if (const char* const all = std::getenv("XDG_CACHE_HOME"); all != nullptr && *all == '/') {
    return fmt::format("{}/trifuse", all);
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fmt::format("{}/.cache/trifuse", home) : "";
}

StoredTexts read_texts(const std::string& path) {
  std::string why;
  const std::string bytes = bytes_of(path, why);
  if (why.empty() && bytes.empty()) return {};
  if (why.empty()) {
    if (std::optional<Texts> texts = texts_in(bytes)) return {std::move(*texts), ""};
    why = "it is damaged";
  }
  return {{}, fmt::format("{} cannot be used: {}.", path, why)};
}

StoredTexts change_texts(const std::string& path, const Texts& changes) {
  make_folder(path);
  const std::string lock_path = path + ".lock";
  const Descriptor lock(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (lock.number() < 0) {
    throw SystemError(fmt::format("{} cannot be written: {}; {}.", lock_path, std::strerror(errno), cure));
  }
  // Some mounts of NFS and Lustre have no locks. Then a text of another program may be lost, but no file is damaged.
  while (::flock(lock.number(), LOCK_EX) != 0 && errno == EINTR) {
  }
  OutputFile file(path, {.cure = cure, .kept = "", .overwrite = true});
  StoredTexts stored = read_texts(path);
  for (const auto& [key, text] : changes) {
    if (text.empty()) {
      stored.texts.erase(key);
    } else {
      stored.texts.insert_or_assign(key, text);
    }
  }
  std::string bytes(head);
  for (const auto& [key, text] : stored.texts) bytes += fmt::format("{}\t{}\n", key, text);
  file.write(bytes + last_line(stored.texts.size()));
  file.finish();
  return stored;
}

}
