#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/nwchem/operand_store.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse {

/// The operands of one spin-orbital task as NWChem's (T) loop hands them over, one kernel call after the other. Nothing
/// is computed here: the caller uses its arrays for something else right after each call, so they are copied into a
/// store, and an executor is told how they lie there when the task is complete.
///
/// Operands have NWChem's layouts, the first index the fastest, in the names of the call:
///
///     singles           t1[p4, h1]            v2[h3, h2, p6, p5]
///     hole doubles      t2[h7, p4, p5, h1]    v2[h3, h2, p6, h7]
///     particle doubles  t2[p7, p4, h1, h2]    v2[p7, h3, p6, p5]
class RecordedTask {
 public:
  using Extents = std::array<std::int64_t, 6>;  ///< of a, b, c, i, j, k
  using Operand = std::array<std::int64_t, 4>;  ///< one number for each index of an operand

  /// `store` outlives the task.
  explicit RecordedTask(OperandStore& store) : store_(store) {}

  /// The extents of a call, in its own names, which are permutations of the task's.
  struct CallExtents {
    std::int64_t h1, h2, h3, p4, p5, p6;
    std::int64_t inner = 1;  ///< h7 or p7
    bool operator==(const CallExtents&) const = default;
  };

  /// The extents that the call of a term has in a task.
  static CallExtents call_extents(const Term& term, const Extents& task, std::int64_t inner);
  /// Extents of its two operands, the fastest first.
  struct OperandExtents {
    Operand t, v;
  };
  static OperandExtents operand_extents(TermKind kind, const CallExtents& call);
  /// Numbers of its two operands.
  struct OperandSizes {
    std::int64_t t, v;
  };
  static OperandSizes operand_sizes(TermKind kind, const CallExtents& call);

  /// Begins a task, or its other part. UsageError for extents that no task has, or others than the part before had.
  void begin_singles(const Extents& extent) { begin(extent, singles_begun_); }
  void begin_doubles(const Extents& extent) { begin(extent, doubles_begun_); }
  /// Copies the operands of one call. UsageError where the part has not begun or the extents are not those of its
  /// tiles.
  void add(const Term& term, const CallExtents& call, const double* t, const double* v);
  /// Records the same calls in another task.
  void copy_to(RecordedTask& other) const;
  /// Part of a task: `extent` orbitals of each of a, b, c, i, j, k, from `begin` on.
  struct Box {
    Extents begin, extent;
  };
  /// Records in another task what this one's calls add to a box. Operands are in the memory of this process.
  void copy_box_to(RecordedTask& other, const Box& box) const;
  /// Forgets the task and keeps the memory for the next one.
  void clear();

  bool begun() const { return singles_begun_ || doubles_begun_; }
  bool complete() const { return singles_begun_ && doubles_begun_; }
  const Extents& extent() const { return extent_; }

  /// Part of an operand of products, in the store: how far apart its elements are in doubles.
  struct Strided {
    const double* data;
    std::int64_t inner;
    std::array<std::int64_t, 3> row;
  };
  /// What one call adds to the products with these lone indices. With p and h alone, of the others p < p' and h < h':
  /// rows of the left are (p, h, h'), of the right (p, p', h).
  struct Piece {
    std::int64_t inner;
    Strided left, right;
  };
  std::vector<Piece> pieces(int particle, int hole) const;

  /// A singles term.
  struct Singles {
    const Term* term;
    const double* lone;               ///< t1 [h, p], p fastest
    const double* pairs;              ///< v2 of p < p', h < h'
    std::array<std::int64_t, 4> row;  ///< how far apart elements of v2 are along p, p', h, h'
  };
  std::vector<Singles> singles() const;

 private:
  struct Call {
    const Term* term;
    CallExtents extent;
    const double *t, *v;  ///< in the store
  };

  void begin(const Extents& extent, bool& begun);
  void begin_like_this(RecordedTask& other, const Extents& extent) const;

  OperandStore& store_;
  Extents extent_{};
  bool singles_begun_ = false, doubles_begun_ = false;
  std::vector<Call> calls_;
};

}  // namespace trifuse
