#include "cxx/parallel/stored_sums.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

#include "cxx/base/clock.hpp"
#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/output_file.hpp"
#include "cxx/parallel/journal_names.hpp"
#include "cxx/parallel/journal_record.hpp"

/// A file with sums consists of fields of eight bytes, least significant byte first:
///
///     header     magic "TRIFUSES", fingerprint of the journal (two fields), number of tasks, tiles as in a journal
///                (largest hole tile, largest particle tile, aligned), hash of the names, sizes and units of the arrays
///     tasks      a bit for each task, lowest bit first
///     arrays     the integers of all arrays
///     checksum   of all fields before it (XXH3)
namespace trifuse {

namespace {

// JournalFile::is_journal() is true for such a file, so that no output replaces it.
constexpr std::string_view magic_of_sums = "TRIFUSES";
constexpr std::size_t bits = 64, numbers_at_once = std::size_t{1} << 17;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// A checksum of bytes that come one after another.
class RunningChecksum {
 public:
  RunningChecksum() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw SystemError("There is no memory for a checksum.");
    XXH3_64bits_reset(state_.get());
  }
  void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

/// The bytes of integers, as RecordWriter writes them.
std::string bytes_of(std::span<const std::int64_t> numbers) {
  RecordWriter fields;
  for (const std::int64_t number : numbers) fields.put(static_cast<std::uint64_t>(number));
  return fields.bytes();
}

[[noreturn]] void refuse_sums(const std::string& path, const std::string& why) {
  throw UsageError(
      fmt::format("The file {} with sums of derivatives {}; delete it and the journal to start again.", path, why));
}

/// Rules for the file of a rank.
OutputRules rules_of_sums() {
  OutputRules rules;
  rules.cure = "give another --journal file, or free some space and start the run again with the same journal";
  rules.kept = "this file exists and has no sums of derivatives; give another --journal file";
  rules.is_earlier = [](const std::string& path) {
    std::string magic(magic_of_sums.size(), '\0');
    std::ifstream(path, std::ios::binary).read(magic.data(), static_cast<std::streamsize>(magic.size()));
    return magic == magic_of_sums;
  };
  return rules;
}

}

StoredSums::StoredSums(Journal& journal, std::span<const SummedArray> arrays, Communicator* communicator,
                       TaskSums& sums)
    : journal_(journal), arrays_(arrays.begin(), arrays.end()) {
  const int rank = communicator != nullptr ? communicator->rank() : 0,
            ranks = communicator != nullptr ? communicator->size() : 1;
  path_ = journal_file_of_rank(journal.path(), rank, ending_of_sums);
  own_.assign(journal.key().tasks, false);
  std::vector<double> files(own_.size(), 0.0);
  run_collectively(communicator, [&] {
    if (journal.writes()) OutputFile(path_, rules_of_sums());  // throws now, and not after hours
    for (const auto& [writer, file] : journal_files(journal.path(), ending_of_sums)) {
      if (writer % ranks != rank) continue;
      const bool own = journal.writes() && writer == rank;
      const std::vector<bool> tasks = read(file, own ? &sums : nullptr);
      if (own) own_ = tasks;
      if (!own) absent_[writer] = file;
      for (std::size_t task = 0; task < tasks.size(); ++task) files[task] += tasks[task] ? 1.0 : 0.0;
    }
  });
  if (communicator != nullptr) communicator->allreduce_sum(files);
  check(files);
  contained_.resize(files.size());
  std::transform(files.begin(), files.end(), contained_.begin(), [](double count) { return count > 0.0; });
  last_ = wall_seconds();
}

void StoredSums::check(std::span<const double> files) const {
  const auto refuse_all = [&](const char* why) {
    throw UsageError(
        fmt::format("The files {0}*{1} with sums of derivatives {2}; delete them and the journal {0} to start again.",
                    journal_.path(), ending_of_sums, why));
  };
  for (std::size_t task = 0; task < files.size(); ++task) {
    if (files[task] > 1.0) refuse_all("belong to different runs");
    if (files[task] > 0.0 && !journal_.finished(task)) refuse_all("contain tasks that the journal has lost");
  }
}

std::string StoredSums::header() const {
  const JournalKey& key = journal_.key();
  RunningChecksum of_arrays;
  for (const SummedArray& array : arrays_) {
    RecordWriter numbers;
    numbers.put(std::uint64_t{array.size});
    numbers.put(array.unit);
    of_arrays.add(array.name);
    of_arrays.add(numbers.bytes());
  }
  RecordWriter fields;
  for (const std::uint64_t field :
       {key.fingerprint[0], key.fingerprint[1], key.tasks, static_cast<std::uint64_t>(key.tiles.sizes.holes),
        static_cast<std::uint64_t>(key.tiles.sizes.particles), std::uint64_t{key.tiles.aligned}, of_arrays.value()}) {
    fields.put(field);
  }
  return std::string(magic_of_sums) + fields.bytes();
}

std::vector<bool> StoredSums::read(const std::string& path, TaskSums* sums) const {
  std::error_code unknown;
  if (const auto status = std::filesystem::status(path, unknown);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    refuse_sums(path, "is not a regular file");  // a pipe would be waited for
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError(fmt::format("The file {} cannot be opened: {}.", path, std::strerror(errno)));
  RunningChecksum checksum;
  std::string bytes;
  const auto next = [&](std::size_t size) -> const std::string& {
    bytes.resize(size);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) refuse_sums(path, "is cut short");
    return bytes;
  };
  const auto next_summed = [&](std::size_t size) -> const std::string& {
    checksum.add(next(size));
    return bytes;
  };
  const std::string expected = header();
  if (next_summed(expected.size()) != expected)
    refuse_sums(path, "belongs to a calculation with other input, options, device, memory of a GPU or program version");
  std::vector<bool> tasks(journal_.key().tasks);
  RecordReader words(next_summed((tasks.size() + bits - 1) / bits * sizeof(std::uint64_t)));
  std::uint64_t word = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (task % bits == 0) word = words.integer();
    tasks[task] = (word >> task % bits & 1) != 0;
  }
  std::vector<std::int64_t> numbers;
  for (std::size_t array = 0; array < arrays_.size(); ++array) {
    for (std::size_t first = 0; first < arrays_[array].size; first += numbers.size()) {
      numbers.resize(std::min(numbers_at_once, arrays_[array].size - first));
      RecordReader fields(next_summed(numbers.size() * sizeof(std::int64_t)));
      for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(fields.integer());
      if (sums != nullptr) sums->add_integers(array, first, numbers);
    }
  }
  const std::uint64_t value = checksum.value();
  if (RecordReader(next(sizeof value)).integer() != value) refuse_sums(path, "is damaged");
  return tasks;
}

bool StoredSums::due(double pause) const {
  constexpr double most_of_time = 0.05;
  return journal_.writes() && (pause == 0.0 || wall_seconds() - last_ >= std::max(pause, seconds_ / most_of_time));
}

void StoredSums::write(const std::vector<bool>& done, const TaskSums& sums) {
  std::vector<bool> tasks = own_;
  for (std::size_t task = 0; task < done.size(); ++task) tasks[task] = tasks[task] || done[task];
  if (!journal_.writes() || tasks == own_) return;
  const double begin = wall_seconds();
  try {
    write_file(tasks, sums);
  } catch (const Error& error) {
    throw SumsNotStored(fmt::format("The sums of derivatives are not stored beside the journal: {}", error.what()));
  }
  own_ = std::move(tasks);
  last_ = wall_seconds();
  seconds_ = last_ - begin;
}

void StoredSums::write_file(const std::vector<bool>& tasks, const TaskSums& sums) {
  // The journal must not lose the energies of these tasks, not even if the machine crashes.
  journal_.synchronise();
  OutputFile file(path_, rules_of_sums());
  RunningChecksum checksum;
  const auto write = [&](const std::string& bytes) {
    checksum.add(bytes);
    file.write(bytes);
  };
  write(header());
  std::vector<std::int64_t> words((tasks.size() + bits - 1) / bits);
  for (std::size_t task = 0; task < tasks.size(); ++task)
    words[task / bits] |= static_cast<std::int64_t>(std::uint64_t{tasks[task]} << task % bits);
  write(bytes_of(words));
  for (std::size_t array = 0; array < arrays_.size(); ++array) {
    const std::span<const std::int64_t> numbers = sums.elements(array);
    for (std::size_t first = 0; first < numbers.size(); first += numbers_at_once)
      write(bytes_of(numbers.subspan(first, std::min(numbers_at_once, numbers.size() - first))));
  }
  RecordWriter last;
  last.put(checksum.value());
  file.write(last.bytes());
  file.finish();
}

void StoredSums::add_absent(TaskSums& sums) const {
  for (const auto& [writer, file] : absent_) read(file, &sums);
}

}
