#include "cxx/base/nearest_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace trifuse {

namespace {

/// Returns the number of characters to insert, remove or replace that make `y` of `x` (Levenshtein distance).
std::size_t distance(const std::string& x, const std::string& y) {
  std::vector<std::size_t> row(y.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t replaced = diagonal + (x[i] == y[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}

std::string nearest_name(const std::string& word, const std::vector<std::string>& names) {
  std::string nearest;
  std::size_t least = 0;
  for (const std::string& name : names) {
    // A word more than twice as long as a name does not resemble it.
    if (word.size() > 2 * name.size()) continue;
    const std::size_t found = distance(word, name);
    if (3 * found > std::max(word.size(), name.size()) || (!nearest.empty() && found >= least)) continue;
    nearest = name;
    least = found;
  }
  return nearest;
}

}
