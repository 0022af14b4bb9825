#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trifuse {

/// How many files of shared memory the pieces of one host are in, where its processes share memory. A system gives
/// pages to a file one after another, at some 5 GB/s, and to several beside each other.
inline constexpr int most_files_of_host = 8;
/// Of each of so many processes of a host, so that these files are there where memory is large.
constexpr int segments_of_each_owner(int owners) {
  return owners < most_files_of_host ? most_files_of_host / owners : 1;
}

/// What a rank of a team has of operands that all share: so many even shares of them, in so many pieces.
struct OperandShare {
  double share = 1.0;
  int segments = 1;
};

/// A part of an array that lies in the memory of one process.
struct SharedSegment {
  int rank;  ///< of that process
  std::int64_t doubles;
};

/// Doubles that lie in the memories of several processes, in pieces, each of them contiguous. What carries them (Global
/// Arrays, threads in a test) is the business of those who make it.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  /// A piece in this process, on a cache-line boundary, and at first of unknown contents.
  virtual std::span<double> local(std::size_t segment) = 0;
  /// Copies doubles of a piece, from `first` on, wherever they lie; their process takes no part. May be called by any
  /// thread, but only by one at a time, and not before all processes have written theirs and called `sync`.
  virtual void get(std::size_t segment, std::int64_t first, std::span<double> values) = 0;
  /// Lets others read what stands in the pieces: collective.
  virtual void sync() = 0;
};

}  // namespace trifuse
