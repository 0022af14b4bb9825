#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse {

/// The operands of one spin-orbital task as NWChem's (T) loop hands them over, one kernel call after the other. Nothing
/// is computed here: the caller uses its arrays for something else right after each call, so they are copied, and laid
/// out for an executor when the task is complete.
///
/// Operands have NWChem's layouts, the first index the fastest, in the names of the call:
///
///     singles           t1[p4, h1]            v2[h3, h2, p6, p5]
///     hole doubles      t2[h7, p4, p5, h1]    v2[h3, h2, p6, h7]
///     particle doubles  t2[p7, p4, h1, h2]    v2[p7, h3, p6, p5]
class RecordedTask {
 public:
  using Extents = std::array<std::int64_t, 6>;  ///< of a, b, c, i, j, k

  /// The extents of a call, in its own names, which are permutations of the task's.
  struct CallExtents {
    std::int64_t h1, h2, h3, p4, p5, p6;
    std::int64_t inner = 1;  ///< h7 or p7
  };

  /// Begins a task, or its other part. UsageError for extents that no task has, or others than the part before had.
  void begin_singles(const Extents& extent) { begin(extent, singles_begun_); }
  void begin_doubles(const Extents& extent) { begin(extent, doubles_begun_); }
  /// Copies the operands of one call. UsageError where the part has not begun or the extents are not those of its
  /// tiles.
  void add(const Term& term, const CallExtents& call, const double* t, const double* v);
  /// Forgets the task and keeps the memory for the next one.
  void clear();

  bool complete() const { return singles_begun_ && doubles_begun_; }
  const Extents& extent() const { return extent_; }
  /// Inner indices of all calls with these lone indices.
  std::int64_t inner(int particle, int hole) const;
  /// The operands of all these calls laid end to end along the inner index, which is the fastest: left rows [p, h', h],
  /// p being alone, right rows [p', p, h], h being alone; pairs ascend.
  void assemble(int particle, int hole, Buffer& left, Buffer& right) const;

  /// A singles term: t1 [particle, hole], and the pairs that stand beside it as [p', p, h', h].
  struct Singles {
    const Term* term;
    std::vector<double> lone, pairs;
  };
  /// `padding`: readable doubles behind the last number of either.
  std::vector<Singles> singles(std::size_t padding) const;

 private:
  struct Call {
    const Term* term;
    CallExtents extent;
    std::size_t t, v;  ///< first number of each
  };

  void begin(const Extents& extent, bool& begun);
  std::size_t store(const double* numbers, std::int64_t count);

  Extents extent_{};
  bool singles_begun_ = false, doubles_begun_ = false;
  std::vector<Call> calls_;
  std::vector<double> numbers_;
  std::size_t last_begin_ = 0, last_end_ = 0;  ///< where the call before was stored
};

}  // namespace trifuse
