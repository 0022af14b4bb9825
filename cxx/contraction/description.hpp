#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

/// Contractions of two tensors of doubles with any indices: C = alpha sum A B + beta C.
///
/// Example: "aebf,dfce->abcd" means C[a,b,c,d] = alpha sum_ef A[a,e,b,f] B[d,f,c,e] + beta C[a,b,c,d].
///
/// This room knows nothing of triples. An executor takes a `Contraction`, in most cases its canonical form.
namespace trifuse::contraction {

/// Most indices that an expression may have.
inline constexpr std::size_t max_indices = 12;

/// The tensors, and their positions in `Index::stride`.
enum Tensor : std::size_t { A = 0, B = 1, C = 2 };

/// The class of an index follows from the tensors that have it.
enum class IndexClass {
  batch,       ///< in A, B and C
  external_a,  ///< in A and C
  external_b,  ///< in B and C
  contracted,  ///< in A and B; the sum runs over it
};

/// An index of a contraction.
struct Index {
  /// One letter. In the canonical form: the letters of the fused indices, the fastest one last.
  std::string name;
  IndexClass index_class;
  std::int64_t extent;  ///< number of values, 0 or more
  /// [Tensor]: elements from one value to the next, of any sign; 0 in the tensor that lacks the index. An input may
  /// also have the stride 0 for an index of its own. Then all values of the index read the same element.
  std::array<std::int64_t, 3> stride;

  bool operator==(const Index&) const = default;
};

/// Returns true if a tensor has this index.
bool in_tensor(const Index& index, Tensor tensor);

/// A contraction: a value that says which elements are multiplied and where they are, not how. The element of tensor t
/// at the values v of the indices is at the sum of v * stride[t] elements from the pointer of t.
struct Contraction {
  std::vector<Index> indices;

  /// Indices of this class, in the order of `indices`.
  std::vector<Index> of_class(IndexClass index_class) const;
  /// Returns true if C has no elements, so that there is nothing to do.
  bool empty_result() const;
  /// Returns true if the sum has no terms, so that C becomes beta C.
  bool empty_sum() const;

  bool operator==(const Contraction&) const = default;
};

/// The place of the elements of a tensor.
struct Layout {
  std::vector<std::int64_t> extents;  ///< [axis]
  /// [axis]: elements from one value to the next, of any sign. Empty: C order without gaps, the last axis is the
  /// fastest.
  std::vector<std::int64_t> strides;
};

/// Returns the contraction of an expression such as "aebf,dfce->abcd": the indices of A, of B and of C, one letter for
/// each axis, upper case differs from lower case. Spaces have no meaning. The indices are in the order of their first
/// occurrence. `c`: absent if C has C order.
///
/// Throws UsageError with a sentence that names the index, if
/// - the expression has another form, or more than `max_indices` indices,
/// - a tensor has an index twice, or an index is in one tensor only,
/// - the number of axes or an extent does not fit the expression or another tensor,
/// - an extent is negative, or elements lie outside the range of addresses,
/// - elements of C may share memory. The strides of C must nest: each must be larger than the distance that all smaller
///   strides span together.
Contraction describe(std::string_view expression, const Layout& a, const Layout& b,
                     const std::optional<Layout>& c = std::nullopt);

/// Returns an equal contraction with as few indices as possible, from which executors plan.
///
/// - Indices of the extent 1 are absent.
/// - A batch index with the stride 0 in an operand is an external index of the other operand.
/// - Two indices of one class are one index if they follow each other without a gap in each tensor that has them.
/// - The indices are in the order of their classes: batch, external_a, external_b, contracted. Inside a class the
///   strides in C descend; those of contracted indices descend in A.
///
/// So a contraction without indices is a product of two numbers, and an extent is 0 only if nothing is multiplied.
Contraction canonical_form(const Contraction& contraction);

/// Offsets, in elements from the pointer of a tensor, of its first and its last element in memory.
struct OffsetRange {
  std::int64_t first, last;
};
/// Returns the range of the offsets of a tensor. The tensor must have at least one element.
OffsetRange offset_range(const Contraction& contraction, Tensor tensor);

/// Returns the number of elements of a tensor in memory. Values that share an element count once.
double elements(const Contraction& contraction, Tensor tensor);

/// Returns the number of floating-point operations: two for each product.
double operations(const Contraction& contraction);

/// Returns the number of bytes that must move: A and B are read once, C is written once, and also read once if
/// `reads_c`, which is so unless beta is 0.
double bytes(const Contraction& contraction, bool reads_c);

/// Returns the upper bound of the operations per second: the smaller one of the rate of DGEMM and of the rate at which
/// the memory delivers the bytes. `dgemm_rate`: operations per second. `copy_rate`: bytes per second of a large copy,
/// read and written.
double bound(const Contraction& contraction, bool reads_c, double dgemm_rate, double copy_rate);

}

#pragma GCC visibility pop
