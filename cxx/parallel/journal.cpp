#include "cxx/parallel/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

struct Header {
  std::array<char, 8> magic;
  std::uint64_t energies_per_task;
  std::uint64_t tasks;
  Fingerprint fingerprint;
  std::uint64_t checksum;
};
constexpr std::array<char, 8> magic = {'T', 'R', 'I', 'F', 'U', 'S', 'E', '1'};

std::uint64_t checksum_of(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

}  // namespace

void Journal::fail(const std::string& action) const {
  const int code = errno;
  throw SystemError(
      fmt::format("The journal {} cannot be {}: {}. {}", path_, action, std::strerror(code),
                  code == ENOSPC || code == EDQUOT
                      ? "Free some space and start the run again with the same journal; it goes on where it stopped."
                      : "Give a file that can be written with --journal."));
}

std::size_t Journal::record_size() const {
  return sizeof(std::uint64_t) + energies_per_task_ * sizeof(TaskEnergy) + sizeof(std::uint64_t);
}

Journal::Journal(const std::string& path, const Fingerprint& fingerprint, std::size_t tasks,
                 std::size_t energies_per_task)
    : path_(path),
      fingerprint_(fingerprint),
      tasks_(tasks),
      energies_per_task_(energies_per_task),
      finished_(tasks),
      energies_(tasks * energies_per_task) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("opened");
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail("locked");
      throw UsageError(
          fmt::format("The journal {} is in use by another run; wait for it or give another --journal.", path));
    }
    struct stat status {};
    if (::fstat(file_, &status) != 0) fail("read");
    if (!S_ISREG(status.st_mode)) {
      throw UsageError(fmt::format("The journal {} is not a regular file; give another --journal.", path));
    }
    if (status.st_size == 0) {
      write_header();
    } else {
      read_records(static_cast<std::size_t>(status.st_size));
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
  last_sync_ = wall_seconds();
}

Journal::~Journal() {
  // Nothing can be done about a failure here, and nothing is lost: what was written was checked when it was.
  static_cast<void>(::fdatasync(file_));
  ::close(file_);
}

void Journal::write_header() {
  Header header{magic, energies_per_task_, tasks_, fingerprint_, 0};
  header.checksum = checksum_of(header);
  write_all(&header, sizeof header);
}

void Journal::read_records(std::size_t file_size) {
  Header header{};
  const ssize_t got = ::pread(file_, &header, sizeof header, 0);
  if (got < 0) fail("read");
  const auto kept = static_cast<std::size_t>(got);
  if (kept < sizeof header && std::memcmp(&header, magic.data(), std::min(kept, magic.size())) == 0) {
    // A kill while the header was written: nothing was finished yet.
    if (::ftruncate(file_, 0) != 0) fail("written");
    write_header();
    return;
  }
  if (kept < sizeof header || header.magic != magic || header.checksum != checksum_of(header)) {
    throw UsageError(
        fmt::format("{} is not a Trifuse journal and will not be overwritten; give another --journal.", path_));
  }
  if (header.fingerprint != fingerprint_ || header.tasks != tasks_ || header.energies_per_task != energies_per_task_) {
    throw UsageError(fmt::format(
        "The journal {} belongs to a calculation with other input, options or program version; give another "
        "--journal, or delete it to start afresh.",
        path_));
  }
  end_ = sizeof header;
  std::vector<char> record(record_size());
  while (end_ + record.size() <= file_size) {
    if (::pread(file_, record.data(), record.size(), static_cast<off_t>(end_)) != static_cast<ssize_t>(record.size())) {
      fail("read");
    }
    std::uint64_t task = 0, checksum = 0;
    std::memcpy(&task, record.data(), sizeof task);
    std::memcpy(&checksum, record.data() + record.size() - sizeof checksum, sizeof checksum);
    if (checksum != XXH3_64bits_withSeed(record.data(), record.size() - sizeof checksum, fingerprint_[0]) ||
        task >= tasks_) {
      break;
    }
    std::memcpy(energies_.data() + task * energies_per_task_, record.data() + sizeof task,
                energies_per_task_ * sizeof(TaskEnergy));
    if (!finished_[task]) ++finished_count_;
    finished_[task] = true;
    end_ += record.size();
  }
  if (::ftruncate(file_, static_cast<off_t>(end_)) != 0) fail("written");
}

void Journal::write_all(const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t written = ::pwrite(file_, at + done, size - done, static_cast<off_t>(end_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      fail("written");
    }
    done += static_cast<std::size_t>(written);
  }
  end_ += size;
}

void Journal::append(std::size_t task, std::span<const TaskEnergy> energies) {
  std::vector<char> record(record_size());
  const std::uint64_t number = task;
  std::memcpy(record.data(), &number, sizeof number);
  std::memcpy(record.data() + sizeof number, energies.data(), energies.size_bytes());
  const std::uint64_t checksum =
      XXH3_64bits_withSeed(record.data(), record.size() - sizeof(std::uint64_t), fingerprint_[0]);
  std::memcpy(record.data() + record.size() - sizeof checksum, &checksum, sizeof checksum);
  write_all(record.data(), record.size());
  // The page cache survives a kill; for a crash of the machine the disk is told now and then.
  constexpr double seconds_between_syncs = 20.0;
  if (wall_seconds() - last_sync_ > seconds_between_syncs) {
    if (::fdatasync(file_) != 0) fail("written");
    last_sync_ = wall_seconds();
  }
}

}  // namespace trifuse
