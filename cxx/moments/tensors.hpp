#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/contraction/description.hpp"
#include "cxx/contraction/workplace.hpp"

/// Arrays in memory, and the terms of a formula: one line of code for each.
namespace trifuse::moments {

/// The elements of an array, for reading.
struct ArrayView {
  const double* first;                         ///< element [0,0,...]
  std::vector<std::int64_t> extents, strides;  ///< [axis]; strides in elements

  /// An array in C order without gaps.
  ArrayView(const double* elements, std::vector<std::int64_t> shape);
  /// Returns the same elements with other axes: axis n is axis order[n] of this array.
  ArrayView with_axes(const std::vector<std::size_t>& order) const;
};

/// An array in C order, in the memory of somebody else, to which terms are added.
struct Result {
  double* first;
  std::vector<std::int64_t> extents;

  std::int64_t size() const;
  ArrayView view() const { return {first, extents}; }
};

/// What computes the contractions of terms.
using Contract = std::shared_ptr<contraction::Workplace>;
/// Contractions on the cores of this machine. `threads`: at least 1.
inline Contract contract_on_cores(int threads) {
  return contraction::cores_as_workplace(threads);
}

/// An array in C order with memory of its own; its elements begin with 0.
class OwnedArray {
 public:
  OwnedArray() = default;
  /// An array for terms on `workplace`, which forgets it at the end. Throws std::bad_alloc.
  OwnedArray(std::vector<std::int64_t> extents, Contract workplace);
  /// Returns false for an array without memory.
  bool exists() const { return memory_.data() != nullptr; }
  Result result() { return {memory_.data(), extents_}; }
  ArrayView view() const { return {memory_.data(), extents_}; }

 private:
  struct Forget {
    Contract workplace;
    void operator()(const double* first) const { workplace->forget(first); }
  };

  std::vector<std::int64_t> extents_;
  Buffer memory_;
  std::unique_ptr<const double, Forget> known_;
};

/// Adds terms to arrays.
///
/// Expressions are those of contraction::describe(). A letter may occur twice in an input: then its diagonal is taken.
/// Throws UsageError if the expression does not fit the arrays, and what the function for contractions throws.
class Terms {
 public:
  /// `contract` computes the contractions. `threads`: at least 1; for other work.
  Terms(Contract contract, int threads) : contract_(std::move(contract)), threads_(threads) {}

  /// Returns a new array. Throws std::bad_alloc.
  OwnedArray make(std::vector<std::int64_t> extents) const { return {std::move(extents), contract_}; }
  /// Returns an array in the memory `first` of somebody else, with zeros.
  Result zeros(double* first, std::vector<std::int64_t> extents) const;
  /// Writes an array to the memory of the host, if terms on a GPU have not. Nothing may be added to it later.
  void finish(const Result& x) const { contract_->finish(x.first, x.size()); }

  /// c += factor sum a b, e.g. "ke,nebd->nkbd".
  void add(const Result& c, std::string_view expression, double factor, const ArrayView& a, const ArrayView& b) const;
  /// c += factor a, e.g. "iijj->ij".
  void add(const Result& c, std::string_view expression, double factor, const ArrayView& a) const;
  /// x[..p..q..] becomes x[..p..q..] - x[..q..p..], in place. `x`: of rank 4; `first` < `second` < 3: two axes of the
  /// same extent.
  void antisymmetrise(const Result& x, std::size_t first, std::size_t second) const;

 private:
  Contract contract_;
  int threads_;
};

}
