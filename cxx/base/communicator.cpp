#include "cxx/base/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"

namespace trifuse {

std::unique_ptr<SharedArray> Communicator::make_array(std::span<const SharedSegment>) {
  throw Error("These ranks have no shared arrays.");
}

std::vector<double> allgather(Communicator& communicator, std::span<const double> mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(communicator.size()), 0.0);
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<std::ptrdiff_t>(mine.size() * static_cast<std::size_t>(communicator.rank())));
  communicator.allreduce_sum(all);
  return all;
}

std::vector<std::string> allgather(Communicator& communicator, const std::string& mine, std::size_t longest) {
  // Each character is sent as a number. Zeros fill the rest.
  std::vector<double> characters(longest, 0.0);
  for (std::size_t n = 0; n < std::min(longest, mine.size()); ++n) {
    characters[n] = static_cast<double>(static_cast<unsigned char>(mine[n]));
  }
  const std::vector<double> all = allgather(communicator, characters);
  std::vector<std::string> texts(static_cast<std::size_t>(communicator.size()));
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n] != 0.0) texts[n / longest] += static_cast<char>(static_cast<unsigned char>(all[n]));
  }
  return texts;
}

void propagate_failure(Communicator& communicator, const std::exception_ptr& failure) {
  const auto kind = static_cast<double>(kind_of(failure));
  const std::vector<double> kinds = allgather(communicator, std::span(&kind, 1));
  const auto first = std::find_if(kinds.begin(), kinds.end(), [](double each) { return each != 0.0; });
  if (first == kinds.end()) return;
  constexpr std::size_t longest = 1000;
  const std::vector<std::string> sentences = allgather(communicator, failure ? sentence_of(failure) : "", longest);
  if (failure) std::rethrow_exception(failure);
  const auto rank = static_cast<std::size_t>(first - kinds.begin());
  throw_error(static_cast<ErrorKind>(static_cast<int>(*first)),
              fmt::format("Rank {} failed: {}", rank, sentences[rank]));
}

void expect_same(Communicator& communicator, std::span<const double> mine) {
  constexpr double rounding = 1e-9;
  const std::vector<double> all = allgather(communicator, mine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const double first = all[n % mine.size()];
    if (std::abs(all[n] - first) <= rounding * std::max(1.0, std::abs(first))) continue;
    throw InputError(
        fmt::format("Ranks 0 and {} have different calculations; give all ranks the same options and the same files.",
                    n / mine.size()));
  }
}

}
