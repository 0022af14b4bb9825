#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace trifuse::gpu {

/// Hands out stretches of one large piece of memory, first fit, and joins what comes back. Knows offsets only.
class Arena {
 public:
  explicit Arena(std::int64_t bytes);
  /// Offset of a stretch of at least `bytes`, a multiple of 256; nothing where no free stretch is long enough.
  std::optional<std::int64_t> take(std::int64_t bytes);
  void give_back(std::int64_t offset);

  std::int64_t size() const { return size_; }
  std::int64_t used() const { return used_; }
  /// What `take` takes for a request.
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  std::int64_t size_;
  std::int64_t used_ = 0;
  std::map<std::int64_t, std::int64_t> free_;   ///< offset to length
  std::map<std::int64_t, std::int64_t> taken_;  ///< offset to length
};

}  // namespace trifuse::gpu
