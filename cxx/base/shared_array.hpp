#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#pragma GCC visibility push(default)

namespace trifuse {

/// Largest number of shared-memory files that hold the segments of one host. The system allocates the pages of one file
/// one after another, at about 5 GB/s, but the pages of several files in parallel.
inline constexpr int max_files_of_host = 8;
/// Returns the number of segments of each of `owners` ranks of a host: about max_files_of_host together, at least 1
/// each.
constexpr int segments_of_each_owner(int owners) {
  return owners < max_files_of_host ? max_files_of_host / owners : 1;
}

/// The part of the shared operands that one rank stores.
struct OperandShare {
  double share = 1.0;  ///< size relative to the shares of all ranks; 0: the rank stores nothing
  int segments = 1;    ///< number of segments that the part consists of
};

/// A contiguous part of an array in the memory of one rank.
struct SharedSegment {
  int rank;              ///< its owner
  std::int64_t doubles;  ///< its length
};

/// An array of doubles that consists of segments in the memories of several ranks. Its implementations use Global
/// Arrays, windows of MPI, and in tests threads. Call order on every rank: Communicator::make_array(), write to
/// local(), sync(), get(). When all ranks have finished get(), a rank may write again, and sync() must follow again.
class SharedArray {
 public:
  virtual ~SharedArray() = default;
  /// Returns the memory of a segment that this rank owns. It begins on a cache-line boundary. It is not initialised.
  /// `segment`: number in the list of Communicator::make_array.
  virtual std::span<double> local(std::size_t segment) = 0;
  /// Copies doubles number `first`, `first` + 1, ... of a segment of any rank to `values`. The owner does nothing for
  /// this. Any thread may call it after `sync`, but only one at a time.
  virtual void get(std::size_t segment, std::int64_t first, std::span<double> values) = 0;
  /// Makes the contents of all segments readable for all ranks. Collective.
  virtual void sync() = 0;
};

}

#pragma GCC visibility pop
