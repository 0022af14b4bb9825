#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cxx/base/zeroed_vector.hpp"
#include "cxx/plan/task_results.hpp"

namespace trifuse {

/// The arrays of a run to which all workers of a process add, see `SummedArray`. Their elements are integers, so their
/// bits do not depend on the order in which workers add. Any thread may call add() and add_integers().
class TaskSums {
 public:
  /// Makes arrays of zeros. They get memory when they are used.
  explicit TaskSums(std::span<const SummedArray> arrays);

  /// Makes the system provide the memory of all arrays, which it would do when they are first used. Returns early if
  /// `stop` becomes true. Other threads may call other functions meanwhile, but not take().
  void fetch_memory(const std::atomic<bool>& stop);
  /// Returns the number of arrays, and the number of elements of one.
  std::size_t arrays() const { return sizes_.size(); }
  std::size_t size(std::size_t array) const { return sizes_[array]; }
  /// Adds values[n] to element `first` + n. Rounds each value once, to the nearest multiple of the unit of the array. A
  /// value must be below 2^63 units and finite, or the sum has no meaning.
  void add(std::size_t array, std::size_t first, std::span<const double> values);
  /// Adds multiples of the unit.
  void add_integers(std::size_t array, std::size_t first, std::span<const std::int64_t> values);
  /// Returns the elements of an array. No worker may add to it meanwhile.
  std::span<const std::int64_t> elements(std::size_t array) const { return memory_of(array); }
  /// Returns the arrays, [array][element], and leaves none. No other function may be called afterwards. `first`: false
  /// if the first array is empty in the result, because nothing was added to it here.
  std::vector<ZeroedVector<std::int64_t>> take(bool first = true);

 private:
  /// Calls `use` with successive parts of the elements [first, first + count), each with the lock of its memory.
  template <typename Use>
  void with_locks(std::size_t array, std::size_t first, std::size_t count, Use use);
  /// Returns an array, which has memory from the first call on: it may be large, and stay on a device.
  ZeroedVector<std::int64_t>& memory_of(std::size_t array) const;

  std::vector<double> scale_;  ///< [array]: 2^-52 divided by the unit
  std::vector<std::size_t> sizes_;
  mutable std::vector<ZeroedVector<std::int64_t>> sums_;
  std::unique_ptr<std::once_flag[]> has_memory_;  ///< [array]
  std::unique_ptr<std::mutex[]> locks_;
};

}
