#include "cxx/parallel/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse {

std::vector<double> gather(Team& team, std::span<const double> mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(team.size()), 0.0);
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(mine.size() * static_cast<std::size_t>(team.rank())));
  team.sum(all);
  return all;
}

std::vector<std::string> gather(Team& team, const std::string& mine, std::size_t longest) {
  // Characters travel as numbers, and zeros after them.
  std::vector<double> characters(longest, 0.0);
  for (std::size_t n = 0; n < std::min(longest, mine.size()); ++n) {
    characters[n] = static_cast<double>(static_cast<unsigned char>(mine[n]));
  }
  const std::vector<double> all = gather(team, characters);
  std::vector<std::string> texts(static_cast<std::size_t>(team.size()));
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] != 0.0) texts[n / longest] += static_cast<char>(static_cast<unsigned char>(all[n]));
  }
  return texts;
}

void agree(Team& team, const std::exception_ptr& failure) {
  const double mine = failure ? 1.0 : 0.0;
  const std::vector<double> failed = gather(team, std::span(&mine, 1));
  const auto first = std::find(failed.begin(), failed.end(), 1.0);
  if (first == failed.end()) return;
  constexpr std::size_t longest = 1000;
  const std::vector<std::string> sentences = gather(team, failure ? sentence_of(failure) : "", longest);
  if (failure) std::rethrow_exception(failure);
  const auto rank = static_cast<std::size_t>(first - failed.begin());
  throw Error(fmt::format("Rank {} failed: {}", rank, sentences[rank]));
}

}  // namespace trifuse
