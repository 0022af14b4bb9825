#include "cxx/parallel/journal_names.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "cxx/base/printable.hpp"

namespace trifuse {

namespace {

constexpr const char* rank_suffix = ".rank";

}

std::string journal_file_of_rank(const std::string& journal, int rank, const std::string& ending) {
  return rank == 0 ? journal + ending : fmt::format("{}{}{}{}", journal, rank_suffix, rank, ending);
}

int rank_in_journal_name(const std::string& name, const std::string& journal, const std::string& ending) {
  const std::string beginning = journal + rank_suffix;
  if (!name.starts_with(beginning)) return 0;
  int rank = 0;
  const auto [stop, error] = std::from_chars(name.data() + beginning.size(), name.data() + name.size(), rank);
  const bool good = error == std::errc() && rank >= 1 && name == journal_file_of_rank(journal, rank, ending);
  return good ? rank : 0;
}

std::map<int, std::string> journal_files(const std::string& journal, const std::string& ending) {
  expect_whole_path(journal);
  std::map<int, std::string> files;
  std::error_code ignored;  // opening the journal reports an unreadable folder
  const std::string first = journal_file_of_rank(journal, 0, ending);
  if (std::filesystem::exists(first, ignored)) files[0] = first;
  const std::filesystem::path whole(journal);
  const auto folder = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const int rank = rank_in_journal_name(it->path().filename().string(), whole.filename().string(), ending);
    if (rank > 0) files[rank] = journal_file_of_rank(journal, rank, ending);
  }
  return files;
}

}
