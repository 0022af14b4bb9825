#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace trifuse::gpu {

/// Divides one large allocation into ranges. Takes the first free range that is long enough, and joins neighbouring
/// free ranges. Works with offsets only and touches no memory.
class Arena {
 public:
  /// `bytes`: size of the allocation, rounded down to a multiple of 256.
  explicit Arena(std::int64_t bytes);
  /// Returns the offset in bytes, a multiple of 256, of a free range of at least `bytes`. Returns nullopt if no free
  /// range is long enough. Also a range of 0 bytes gets an offset of its own.
  std::optional<std::int64_t> allocate(std::int64_t bytes);
  /// Frees the range that begins at `offset`. Does nothing if no range begins there.
  void release(std::int64_t offset);

  std::int64_t size() const { return size_; }  ///< bytes
  std::int64_t used() const { return used_; }  ///< bytes in allocated ranges
  /// Returns the number of bytes that allocate() reserves for a request of `bytes`.
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  std::int64_t size_;
  std::int64_t used_ = 0;
  std::map<std::int64_t, std::int64_t> free_;       ///< offset to length
  std::map<std::int64_t, std::int64_t> allocated_;  ///< offset to length
};

}
