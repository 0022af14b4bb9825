#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cxx/nwchem/operand_store.hpp"
#include "cxx/triples/terms.hpp"

namespace trifuse {

/// The operands of one spin-orbital task, recorded from the kernel calls of NWChem's (T) loop. NWChem reuses its arrays
/// after each call, so the operands are copied into a store. When the task is complete, an executor asks for
/// their addresses. This class computes nothing.
///
/// Layouts of the operands in C order, in the index names of the call, with NWChem's Fortran order beside it:
///
///     singles           t1[h1,p4]        v2[p5,p6,h2,h3]    Fortran  t1(p4,h1)        v2(h3,h2,p6,p5)
///     hole doubles      t2[h1,p5,p4,h7]  v2[h7,p6,h2,h3]    Fortran  t2(h7,p4,p5,h1)  v2(h3,h2,p6,h7)
///     particle doubles  t2[h2,h1,p4,p7]  v2[p5,p6,h3,p7]    Fortran  t2(p7,p4,h1,h2)  v2(p7,h3,p6,p5)
class RecordedTask {
 public:
  using Extents = std::array<std::int64_t, 6>;  ///< orbitals in the tiles of a, b, c, i, j, k
  using Operand = std::array<std::int64_t, 4>;  ///< a number for each index of an operand, in Fortran order

  /// `store` stores the operands and must outlive the task.
  explicit RecordedTask(OperandStore& store) : store_(store) {}

  /// The extents of the indices of a call. They are a permutation of the extents of the task.
  struct CallExtents {
    std::int64_t h1, h2, h3, p4, p5, p6;
    std::int64_t contracted = 1;  ///< extent of the contracted index h7 or p7; 1 for singles
    bool operator==(const CallExtents&) const = default;
  };

  /// Returns the extents of the call of `term` in a task with extents `task`. `contracted`: extent of the contracted
  /// index.
  static CallExtents call_extents(const Term& term, const Extents& task, std::int64_t contracted);
  /// Extents of the two operands of a call, in Fortran order: the fastest index first.
  struct OperandExtents {
    Operand t, v;
  };
  static OperandExtents operand_extents(TermKind kind, const CallExtents& call);
  /// Sizes of the two operands of a call, doubles.
  struct OperandSizes {
    std::int64_t t, v;
  };
  static OperandSizes operand_sizes(TermKind kind, const CallExtents& call);

  /// Begins the singles or the doubles of a task, in any order. `extent`: extents of the task. Throws UsageError if an
  /// extent is less than 1 or too large, or if singles and doubles have different extents.
  void begin_singles(const Extents& extent) { begin(extent, singles_begun_); }
  void begin_doubles(const Extents& extent) { begin(extent, doubles_begun_); }
  /// Records a call and copies its operands. `term`: an element of `terms`. `call`: extents of the call. `t`, `v`:
  /// operands in the layout above. Throws UsageError if singles or doubles have not begun, if the extents are not those
  /// of the task, or if an operand is null. Throws DeviceMemoryError if the store is full.
  void add(const Term& term, const CallExtents& call, const double* t, const double* v);
  /// Replaces `other` by a copy of this task, with the operands in the store of `other`.
  void copy_to(RecordedTask& other) const;
  /// A part of a task: `extent` orbitals of each of a, b, c, i, j, k, from orbital `begin` of the tile on.
  struct Region {
    Extents begin, extent;
  };
  /// Replaces `other` by a task that consists of one region of this task. The operands of this task must be in the
  /// memory of this process.
  void copy_region_to(RecordedTask& other, const Region& region) const;
  /// Discards the task and keeps the memory for the next one.
  void clear();

  /// Returns true if singles or doubles have begun.
  bool begun() const { return singles_begun_ || doubles_begun_; }
  /// Returns true if singles and doubles have begun.
  bool complete() const { return singles_begun_ && doubles_begun_; }
  /// Returns the extents of the task.
  const Extents& extent() const { return extent_; }

  /// An operand in the store, seen as a matrix: three row indices and a contracted index. Strides are in doubles.
  struct Strided {
    const double* data;               ///< first element
    std::int64_t contracted;          ///< stride of the contracted index
    std::array<std::int64_t, 3> row;  ///< strides of the row indices
  };
  /// The two operands of a call. Indices are named as in terms.hpp: p and h stand alone; p', p'' and h', h'' are the
  /// others. Row indices of the left operand are p, h', h''. Row indices of the right operand are p', p'', h.
  struct OperandPair {
    std::int64_t contracted;  ///< extent of the contracted index
    Strided left, right;
  };
  /// Returns the operands of all recorded doubles calls with this lone particle and lone hole, positions 0 to 2.
  std::vector<OperandPair> operand_pairs(int particle, int hole) const;

  /// The operands of a singles call.
  struct Singles {
    const Term* term;
    const double* t1;                 ///< t1[h,p]
    const double* vvoo;               ///< first element of v2
    std::array<std::int64_t, 4> row;  ///< strides of v2 along p', p'', h', h'', doubles
  };
  /// Returns the operands of all recorded singles calls.
  std::vector<Singles> singles() const;

 private:
  /// A recorded call.
  struct Call {
    const Term* term;
    CallExtents extent;
    const double *t, *v;  ///< the two operands, in the store
  };

  void begin(const Extents& extent, bool& begun);
  /// Clears `other` and begins the same parts there. `extent`: extents of `other`.
  void begin_like_this(RecordedTask& other, const Extents& extent) const;

  OperandStore& store_;
  Extents extent_{};
  bool singles_begun_ = false, doubles_begun_ = false;
  std::vector<Call> calls_;
};

}
