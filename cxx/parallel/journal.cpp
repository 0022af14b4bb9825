#include "cxx/parallel/journal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <stdexcept>
#include <tuple>

#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"
#include "cxx/base/output_file.hpp"
#include "cxx/parallel/journal_names.hpp"

namespace trifuse {

Journal::Journal(const std::string& path, const JournalKey& key, Communicator* communicator, bool writes)
    : path_(path),
      key_(key),
      finished_(key.tasks),
      by_(key.tasks, WorkerKind::other),
      energies_(key.tasks * key.results.omega2) {
  const int rank = communicator != nullptr ? communicator->rank() : 0,
            ranks = communicator != nullptr ? communicator->size() : 1;
  const auto open = [&] {
    file_ = std::make_unique<JournalFile>(
        journal_file_of_rank(path, rank), key,
        [&](std::size_t task, WorkerKind by, std::span<const TaskEnergy> found) { add_finished(task, by, found); });
  };
  std::map<int, std::string> files;
  FilesOfRank seen;
  run_collectively(communicator, [&] { files = journal_files(path); });
  // Rank 0 opens its file first, so that a refused journal leaves no new files of other ranks.
  run_collectively(communicator, [&] {
    if (writes && rank == 0) open();
  });
  run_collectively(communicator, [&] {
    if (writes && rank != 0) open();
    if (file_) seen.add(rank, file_->state());
    read_files(files, rank, ranks, writes, seen);
  });
  write_warning(seen, communicator);
  if (communicator != nullptr) agree_on_finished(*communicator);
}

bool Journal::is_file_of_rank(const std::string& journal, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string(),
                    own = std::filesystem::path(journal).filename().string();
  const auto is_with = [&](const std::string& ending) {
    const int rank = rank_in_journal_name(name, own, ending);
    return (rank > 0 || !ending.empty()) && lead_to_same_file(journal_file_of_rank(journal, rank, ending), path);
  };
  return is_with("") || is_with(ending_of_sums);
}

std::optional<Tiling> Journal::tiles_in(const std::string& path, Communicator* communicator) {
  std::optional<Tiling> tiling;
  run_collectively(communicator, [&] {
    for (const auto& [rank, file] : journal_files(path)) {
      if (!tiling) tiling = JournalFile::tiles_in(file);
    }
  });
  if (communicator == nullptr) return tiling;
  const std::array<double, 4> mine = {tiling ? 1.0 : 0.0, tiling ? static_cast<double>(tiling->sizes.holes) : 0.0,
                                      tiling ? static_cast<double>(tiling->sizes.particles) : 0.0,
                                      tiling && tiling->aligned ? 1.0 : 0.0};
  const std::vector<double> all = allgather(*communicator, mine);
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    if (all[at] == 0.0) continue;
    return Tiling{{static_cast<std::int64_t>(all[at + 1]), static_cast<std::int64_t>(all[at + 2])}, all[at + 3] != 0.0};
  }
  return {};
}

void Journal::FilesOfRank::add(int rank, const JournalFileState& file) {
  if (!file.locked) unlocked += 1.0;
  records += static_cast<double>(file.records);
  if (damaged == 0.0 && file.damaged > 0) {
    writer = static_cast<double>(rank);
    byte = static_cast<double>(file.first_damaged);
  }
  damaged += static_cast<double>(file.damaged);
}

void Journal::read_files(const std::map<int, std::string>& files, int rank, int ranks, bool writes, FilesOfRank& seen) {
  for (const auto& [writer, file] : files) {
    if (writer % ranks != rank || (writes && writer == rank)) continue;
    seen.add(writer,
             JournalFile::read(file, key_, [&](std::size_t task, WorkerKind by, std::span<const TaskEnergy> found) {
               add_finished(task, by, found);
             }));
  }
}

void Journal::write_warning(const FilesOfRank& seen, Communicator* communicator) {
  const std::array<double, 5> mine = {seen.unlocked, seen.records, seen.damaged, seen.writer, seen.byte};
  const std::vector<double> rows =
      communicator != nullptr ? allgather(*communicator, mine) : std::vector<double>(mine.begin(), mine.end());
  FilesOfRank all;
  for (std::size_t at = 0; at < rows.size(); at += mine.size()) {
    all.unlocked += rows[at];
    all.records += rows[at + 1];
    if (all.damaged == 0.0) std::tie(all.writer, all.byte) = std::tie(rows[at + 3], rows[at + 4]);
    all.damaged += rows[at + 2];
  }
  std::vector<std::string> warnings;
  if (all.unlocked > 0.0) {
    warnings.push_back(fmt::format(
        "The file system of the journal {} has no locks (flock), so two runs could use it at the same time; make sure "
        "that only one run uses it.",
        path_));
  }
  if (all.damaged > 0.0) {
    const bool one = all.damaged == 1.0;
    warnings.push_back(fmt::format(
        "The journal {} is damaged, as after a crash of the machine or a fault of the disk: of its {} records {} {} a "
        "wrong checksum, the first at byte {} of {}. The run does not use {} and computes the {} again.",
        path_, all.records, all.damaged, one ? "has" : "have", all.byte,
        journal_file_of_rank(path_, static_cast<int>(all.writer)), one ? "it" : "them", one ? "task" : "tasks"));
  }
  warning_ = fmt::format("{}", fmt::join(warnings, " "));
}

void Journal::append(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies) {
  if (!file_) throw std::logic_error("This rank only reads the journal " + path_ + ".");
  file_->append(task, by, energies);
}

void Journal::synchronise() {
  if (file_) file_->synchronise();
}

void Journal::add_finished(std::size_t task, WorkerKind by, std::span<const TaskEnergy> energies) {
  // An earlier file has this task already.
  if (finished_[task]) return;
  finished_[task] = true;
  by_[task] = by;
  std::copy(energies.begin(), energies.end(),
            energies_.begin() + static_cast<std::ptrdiff_t>(task * key_.results.omega2));
}

void Journal::agree_on_finished(Communicator& communicator) {
  const std::size_t tasks = finished_.size(), count = key_.results.omega2;
  // Find for each task the lowest rank that knows its energies. A double holds one bit for each of this many ranks.
  constexpr int bits = 50;
  constexpr int nobody = -1;
  std::vector<int> giver(tasks, nobody);
  std::vector<double> numbers;
  for (int first = 0; first < communicator.size(); first += bits) {
    const int position = communicator.rank() - first;
    const double bit = position >= 0 && position < bits ? static_cast<double>(std::uint64_t{1} << position) : 0.0;
    numbers.assign(tasks, 0.0);
    for (std::size_t task = 0; task < tasks; ++task) numbers[task] = finished_[task] ? bit : 0.0;
    communicator.allreduce_sum(numbers);
    for (std::size_t task = 0; task < tasks; ++task) {
      if (giver[task] != nobody || numbers[task] == 0.0) continue;
      giver[task] = first + std::countr_zero(static_cast<std::uint64_t>(numbers[task]));
    }
  }
  // The sum is exact, because all ranks but one contribute zeros.
  const std::size_t row = 1 + TaskEnergy::numbers * count;
  std::vector<std::size_t> given;
  for (std::size_t task = 0; task < tasks; ++task) {
    if (giver[task] != nobody) given.push_back(task);
  }
  numbers.assign(given.size() * row, 0.0);
  double* number = numbers.data();
  for (const std::size_t task : given) {
    const auto own = energies(task);
    if (giver[task] == communicator.rank()) {
      number[0] = static_cast<double>(by_[task]);
      for (std::size_t w = 0; w < count; ++w) {
        const auto values = own[w].as_numbers();
        std::copy(values.begin(), values.end(), number + 1 + TaskEnergy::numbers * w);
      }
    }
    number += row;
  }
  communicator.allreduce_sum(numbers);
  number = numbers.data();
  for (const std::size_t task : given) {
    finished_[task] = true;
    by_[task] = static_cast<WorkerKind>(static_cast<int>(number[0]));
    for (std::size_t w = 0; w < count; ++w) {
      energies_[task * count + w] = TaskEnergy::of_numbers(number + 1 + TaskEnergy::numbers * w);
    }
    number += row;
  }
}

}
