#include "cxx/parallel/journal_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/clock.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"
#include "cxx/parallel/journal_record.hpp"

/// A journal file consists of a header and one record for each finished task. All fields have eight bytes, least
/// significant byte first.
///
///     header   magic "TRIFUSE2", energies per task, tasks, largest hole tile, largest particle tile, aligned (0 or 1),
///              fingerprint (two fields), checksum of the fields before it (XXH3)
///     record   number of the task, with the kind of worker in the highest byte; for each omega2 the four numbers of
///              TaskEnergy::as_numbers(), hartree; checksum of the fields before it (XXH3, seed: first field of the
///              fingerprint)
namespace trifuse {

namespace {

struct Header {
  std::array<char, 8> magic;
  std::uint64_t energies_per_task;
  std::uint64_t tasks;
  std::int64_t holes, particles;
  std::uint64_t aligned;
  Fingerprint fingerprint;
  std::uint64_t checksum;
};
static_assert(sizeof(Header) == 9 * sizeof(std::uint64_t), "a header has no padding");
constexpr std::array<char, 8> magic = {'T', 'R', 'I', 'F', 'U', 'S', 'E', '2'};
constexpr std::array<char, 8> old_magic = {'T', 'R', 'I', 'F', 'U', 'S', 'E', '1'};

std::uint64_t checksum_of(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

Header header_of(const JournalKey& key) {
  Header header{magic,
                key.results.omega2,
                key.tasks,
                key.tiles.sizes.holes,
                key.tiles.sizes.particles,
                key.tiles.aligned ? std::uint64_t{1} : std::uint64_t{0},
                key.fingerprint,
                0};
  header.checksum = checksum_of(header);
  return header;
}

/// Returns the header at the beginning of a file; nullopt if a kill left only a part of a header. Throws UsageError if
/// the file is not a journal of this version.
std::optional<Header> header_in(const std::string& path, const char* data, std::size_t size) {
  Header header{};
  const std::size_t kept = std::min(size, sizeof header);
  std::memcpy(&header, data, kept);
  if (kept == sizeof header && header.magic == magic && header.checksum == checksum_of(header)) return header;
  if (kept >= magic.size() && header.magic == old_magic) {
    throw UsageError(
        fmt::format("The journal {} was written by an older version of Trifuse, and only that version can resume it; "
                    "give another --journal, or delete it to start again.",
                    path));
  }
  if (kept < sizeof header && std::memcmp(&header, magic.data(), std::min(kept, magic.size())) == 0) return {};
  throw UsageError(
      fmt::format("{} is not a Trifuse journal and will not be overwritten; give another --journal.", path));
}

// A record begins with a 64-bit number: the number of the task, with the kind of worker in the highest byte.
constexpr int kind_bit = 56;

}

WorkerKind worker_kind(const std::string& executor) {
  constexpr std::array<const char*, worker_kinds> names = {"other", "cpu",       "reference",
                                                           "cuda",  "mixed-cpu", "mixed-cuda"};
  const auto name = std::find(names.begin(), names.end(), executor);
  return name == names.end() ? WorkerKind::other : static_cast<WorkerKind>(name - names.begin());
}

void JournalFile::fail(const std::string& action) const {
  const int code = errno;
  throw SystemError(
      fmt::format("The journal {} cannot be {}: {}. {}", path_, action, std::strerror(code),
                  code == ENOSPC || code == EDQUOT
                      ? "Free some space and start the run again with the same journal; it resumes where it stopped."
                      : "Give a file that can be written with --journal."));
}

std::size_t JournalFile::record_size() const {
  return (1 + key_.results.numbers_per_task() + 1) * sizeof(std::uint64_t);
}

void JournalFile::lock(int operation) {
  state_.locked = ::flock(file_, operation | LOCK_NB) == 0;
  // Some mounts of NFS and Lustre have no locks. The run then goes on without one.
  if (state_.locked || errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP) return;
  if (errno != EWOULDBLOCK) fail("locked");
  throw UsageError(
      fmt::format("The journal {} is in use by another run; wait for it or give another --journal.", path_));
}

JournalFile::JournalFile(std::string path, const JournalKey& key, int flags) : path_(std::move(path)), key_(key) {
  expect_whole_path(path_);
  // With these flags opening a pipe or a terminal does not block. It is refused later.
  constexpr int always = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const bool create = (flags & O_CREAT) != 0;
  while (file_ < 0) {
    file_ = ::open(path_.c_str(), (flags & ~O_CREAT) | always);
    if (file_ >= 0) return;
    if (errno != ENOENT || !create) fail("opened");
    // With O_EXCL no file is created at the end of a symbolic link.
    file_ = ::open(path_.c_str(), flags | O_EXCL | always, 0666);
    if (file_ < 0 && errno != EEXIST) fail("opened");
    if (file_ < 0) refuse_link();  // otherwise a file has appeared meanwhile, so the loop tries again
  }
}

void JournalFile::refuse_link() const {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return;
  throw UsageError(
      fmt::format("The journal {} is a symbolic link to a file that does not exist, and Trifuse does not create a "
                  "journal through a link; name the file itself with --journal.",
                  path_));
}

JournalFile::JournalFile(std::string path, const JournalKey& key, const Found& found)
    : JournalFile(std::move(path), key, O_RDWR | O_CREAT) {
  lock(LOCK_EX);
  const std::size_t size = size_of_file();
  if (read_header()) {
    read_records(size, found);
    if (::ftruncate(file_, static_cast<off_t>(end_)) != 0) fail("written");
    std::erase_if(holes_, [this](std::size_t hole) { return hole >= end_; });
  } else {
    // The file is new, or a kill interrupted the writing of its header. No task was finished then.
    if (::ftruncate(file_, 0) != 0) fail("written");
    write_header();
  }
  last_sync_ = wall_seconds();
}

JournalFileState JournalFile::read(const std::string& path, const JournalKey& key, const Found& found) {
  JournalFile file(path, key, O_RDONLY);
  file.lock(LOCK_SH);
  const std::size_t size = file.size_of_file();
  if (file.read_header()) file.read_records(size, found);
  return file.state();
}

std::optional<Tiling> JournalFile::tiles_in(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, sizeof(Header)> data{};
  struct stat status {};
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t got = regular ? ::pread(file, data.data(), data.size(), 0) : 0;
  ::close(file);
  if (got <= 0) return {};
  const std::optional<Header> header = header_in(path, data.data(), static_cast<std::size_t>(got));
  if (!header) return {};
  return Tiling{{header->holes, header->particles}, header->aligned != 0};
}

bool JournalFile::is_journal(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, magic.size()> head{};
  const ssize_t got = ::pread(file, head.data(), head.size(), 0);
  ::close(file);
  // The last letter of the magic is the version.
  return got == static_cast<ssize_t>(head.size()) && std::equal(head.begin(), head.end() - 1, magic.begin());
}

JournalFile::~JournalFile() {
  // A destructor cannot report a failure. Every earlier write was checked.
  static_cast<void>(::fdatasync(file_));
  ::close(file_);
}

std::size_t JournalFile::size_of_file() const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("read");
  if (!S_ISREG(status.st_mode)) {
    throw UsageError(fmt::format("The journal {} is not a regular file; give another --journal.", path_));
  }
  return static_cast<std::size_t>(status.st_size);
}

void JournalFile::write_header() {
  const Header header = header_of(key_);
  write_all({reinterpret_cast<const char*>(&header), sizeof header}, 0);
}

bool JournalFile::read_header() {
  std::array<char, sizeof(Header)> data{};
  const ssize_t got = ::pread(file_, data.data(), data.size(), 0);
  if (got < 0) fail("read");
  if (got == 0) return false;
  const std::optional<Header> header = header_in(path_, data.data(), static_cast<std::size_t>(got));
  if (!header) return false;
  const Header wanted = header_of(key_);
  if (std::memcmp(&*header, &wanted, sizeof wanted) != 0) {
    throw UsageError(
        fmt::format("The journal {} belongs to a calculation with other input, options or program version; give "
                    "another --journal, or delete it to start again.",
                    path_));
  }
  end_ = sizeof(Header);
  return true;
}

std::uint64_t JournalFile::checksum_of_fields(std::string_view fields) const {
  return XXH3_64bits_withSeed(fields.data(), fields.size(), key_.fingerprint[0]);
}

void JournalFile::read_records(std::size_t file_size, const Found& found) {
  std::vector<char> record(record_size());
  std::vector<TaskEnergy> energies(key_.results.omega2);
  for (std::size_t at = end_; at + record.size() <= file_size; at += record.size()) {
    if (::pread(file_, record.data(), record.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(record.size())) {
      fail("read");
    }
    RecordReader fields(record);
    const std::uint64_t first = fields.integer();
    const std::uint64_t task = first & ((std::uint64_t{1} << kind_bit) - 1), by = first >> kind_bit;
    for (TaskEnergy& energy : energies) {
      std::array<double, TaskEnergy::numbers> numbers{};
      for (double& number : numbers) number = fields.real();
      energy = TaskEnergy::of_numbers(numbers.data());
    }
    const bool valid = fields.integer() ==
                           checksum_of_fields(std::string_view(record.data(), record.size() - sizeof(std::uint64_t))) &&
                       task < key_.tasks && by < worker_kinds;
    ++state_.records;
    if (!valid) {
      // A kill can only shorten a file, so this record is damaged. The records behind it have checksums of their own.
      if (state_.damaged++ == 0) state_.first_damaged = at;
      holes_.push_back(at);
      continue;
    }
    found(task, static_cast<WorkerKind>(by), energies);
    end_ = at + record.size();
  }
}

void JournalFile::write_all(std::string_view data, std::size_t to) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t written = ::pwrite(file_, data.data() + done, data.size() - done, static_cast<off_t>(to + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      fail("written");
    }
    done += static_cast<std::size_t>(written);
  }
  end_ = std::max(end_, to + data.size());
}

void JournalFile::append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies) {
  RecordWriter record;
  record.put(task | static_cast<std::uint64_t>(by) << kind_bit);
  for (const TaskEnergy& energy : energies) {
    for (const double number : energy.as_numbers()) record.put(number);
  }
  record.put(checksum_of_fields(record.bytes()));
  // New records first replace damaged records.
  const std::size_t to = holes_.empty() ? end_ : holes_.back();
  write_all(record.bytes(), to);
  if (!holes_.empty()) holes_.pop_back();
  // The page cache survives a kill of the process, but not a crash of the machine. So the file is synchronised from
  // time to time.
  constexpr double seconds_between_syncs = 20.0;
  if (wall_seconds() - last_sync_ > seconds_between_syncs) synchronise();
}

void JournalFile::synchronise() {
  if (::fdatasync(file_) != 0) fail("written");
  last_sync_ = wall_seconds();
}

}
