#pragma once

#include <algorithm>
#include <cstdint>

/// Packed symmetric arrays. They contain only the elements [p,q] with p >= q, row by row of the lower triangle.
namespace trifuse {

/// Returns the number of pairs of `count` orbitals.
constexpr std::int64_t pair_count(std::int64_t count) {
  return count * (count + 1) / 2;
}

/// Returns the position in the packed array of the elements [p,q] and [q,p], which are equal.
constexpr std::int64_t pair_number(std::int64_t p, std::int64_t q) {
  return pair_count(std::max(p, q)) + std::min(p, q);
}

}
