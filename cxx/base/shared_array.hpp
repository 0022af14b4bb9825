#pragma once

#include <cstdint>
#include <span>

namespace trifuse {

/// Into how many parts the pieces of one host go, where its processes share memory. A system gives pages to a part one
/// after another, at some 5 GB/s, and to several beside each other.
inline constexpr int most_parts_of_host = 8;

/// Doubles that lie in the memories of several processes, one contiguous piece in each. What carries them (Global
/// Arrays, threads in a test) is the business of those who make it.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  /// This process's own piece, on a cache-line boundary, and at first of unknown contents.
  virtual std::span<double> local() = 0;
  /// Copies doubles of one piece, from `first` of piece `owner` on, wherever they lie; the owner takes no part. May be
  /// called by any thread, but only by one at a time, and not before the owners have written and called `sync`.
  virtual void get(int owner, std::int64_t first, std::span<double> values) = 0;
  /// Lets others read what stands in the pieces: collective.
  virtual void sync() = 0;
};

}  // namespace trifuse
