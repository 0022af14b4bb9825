#include "cxx/cuda/schedule/arena.hpp"

#include <algorithm>
#include <iterator>

namespace trifuse::gpu {

Arena::Arena(std::int64_t bytes) : size_(bytes / 256 * 256) {
  if (size_ > 0) free_.emplace(0, size_);
}

std::optional<std::int64_t> Arena::allocate(std::int64_t bytes) {
  const std::int64_t length = rounded(std::max<std::int64_t>(bytes, 1));
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& gap) { return gap.second >= length; });
  if (found == free_.end()) return std::nullopt;
  const auto [offset, gap] = *found;
  free_.erase(found);
  if (gap > length) free_.emplace(offset + length, gap - length);
  allocated_.emplace(offset, length);
  used_ += length;
  return offset;
}

void Arena::release(std::int64_t offset) {
  const auto allocated = allocated_.find(offset);
  if (allocated == allocated_.end()) return;
  std::int64_t begin = offset, length = allocated->second;
  used_ -= length;
  allocated_.erase(allocated);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + length == next->first) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += length;
      return;
    }
  }
  free_.emplace(begin, length);
}

}
