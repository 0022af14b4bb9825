#include "cxx/contraction/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::array<char, 3> tensor_name = {'A', 'B', 'C'};
constexpr std::array tensors = {A, B, C};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The letters of A, B and C.
using Letters = std::array<std::string, 3>;

[[noreturn]] void refuse_expression(std::string_view expression, std::string_view reason) {
  constexpr std::size_t longest = 60;
  throw UsageError(fmt::format(
      "The contraction \"{}\" {}; write the indices of A, B and C with one letter for each axis, as in \"ab,bc->ac\".",
      printable(expression, longest), reason));
}

Letters split(std::string_view expression) {
  Letters letters;
  std::size_t tensor = A;
  for (std::size_t n = 0; n < expression.size(); ++n) {
    const char c = expression[n];
    if (c == ' ') continue;
    if (c == ',') {
      if (tensor != A) refuse_expression(expression, "does not have exactly two operands");
      tensor = B;
    } else if (expression.substr(n, 2) == "->") {
      if (tensor != B) refuse_expression(expression, "does not have exactly two operands and one result");
      tensor = C;
      ++n;
    } else if (is_letter(c)) {
      letters[tensor] += c;
    } else {
      refuse_expression(expression, fmt::format("has the character \"{}\"", printable(expression.substr(n, 1))));
    }
  }
  if (tensor != C) refuse_expression(expression, "has no \"->\" behind two operands");
  return letters;
}

IndexClass class_of(char letter, const Letters& letters) {
  const auto in = [&](Tensor t) { return letters[t].find(letter) != std::string::npos; };
  if (in(A) && in(B)) return in(C) ? IndexClass::batch : IndexClass::contracted;
  if (!in(C)) {
    throw UsageError(fmt::format("Index {} occurs only in {}; sum over it first, or give it to the result, too.",
                                 letter, in(A) ? "A" : "B"));
  }
  if (!in(A) && !in(B)) {
    throw UsageError(fmt::format("Index {} of the result occurs neither in A nor in B; remove it.", letter));
  }
  return in(A) ? IndexClass::external_a : IndexClass::external_b;
}

/// Returns the indices in the order of their first occurrence, without extents and strides.
std::vector<Index> indices_of(const Letters& letters) {
  std::vector<Index> indices;
  for (const Tensor t : tensors) {
    for (std::size_t n = 0; n < letters[t].size(); ++n) {
      const char letter = letters[t][n];
      if (letters[t].find(letter) != n) {
        throw UsageError(
            fmt::format("Index {} occurs twice in {}; {}.", letter, tensor_name[t],
                        t == C ? "name each axis of the result by another letter" : "take the diagonal first"));
      }
      const std::string name(1, letter);
      if (std::any_of(indices.begin(), indices.end(), [&](const Index& known) { return known.name == name; })) continue;
      indices.push_back({name, class_of(letter, letters), -1, {0, 0, 0}});
    }
  }
  if (indices.size() > max_indices) {
    throw UsageError(
        fmt::format("The contraction has {} indices, of which {} is one too many; at most {} are possible.",
                    indices.size(), indices[max_indices].name, max_indices));
  }
  return indices;
}

Index& find(std::vector<Index>& indices, char letter) {
  return *std::find_if(indices.begin(), indices.end(), [&](const Index& index) { return index.name[0] == letter; });
}

void set_extents(const std::string& letters, Tensor tensor, const Layout& layout, std::vector<Index>& indices) {
  if (layout.extents.size() != letters.size()) {
    throw UsageError(fmt::format("{} has {} axes, but the contraction names {} indices of {}: \"{}\".",
                                 tensor_name[tensor], layout.extents.size(), letters.size(), tensor_name[tensor],
                                 letters));
  }
  if (!layout.strides.empty() && layout.strides.size() != letters.size()) {
    throw UsageError(fmt::format("{} has {} axes, but {} strides.", tensor_name[tensor], layout.extents.size(),
                                 layout.strides.size()));
  }
  for (std::size_t n = 0; n < letters.size(); ++n) {
    Index& index = find(indices, letters[n]);
    const std::int64_t extent = layout.extents[n];
    if (extent < 0) {
      throw UsageError(fmt::format("Index {} has the extent {} in {}; an extent is 0 or more.", index.name, extent,
                                   tensor_name[tensor]));
    }
    if (index.extent >= 0 && index.extent != extent) {
      const char* const first = index.index_class == IndexClass::external_b ? "B" : "A";
      throw UsageError(fmt::format("Index {} has the extent {} in {}, but {} in {}; both must be equal.", index.name,
                                   index.extent, first, extent, tensor_name[tensor]));
    }
    index.extent = extent;
  }
}

/// Sets the strides of a tensor. Throws UsageError if offsets of its elements, in bytes, exceed 64 bits.
void set_strides(const std::string& letters, Tensor tensor, const std::vector<std::int64_t>& strides,
                 std::vector<Index>& indices) {
  const bool has_elements =
      std::none_of(letters.begin(), letters.end(), [&](char letter) { return find(indices, letter).extent == 0; });
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(double));
  std::int64_t in_c_order = 1, reach = 0;
  for (std::size_t n = letters.size(); n-- > 0;) {
    Index& index = find(indices, letters[n]);
    const std::int64_t stride = strides.empty() ? in_c_order : strides[n];
    index.stride[tensor] = stride;
    if (!has_elements || index.extent == 1) continue;
    std::int64_t distance = 0;
    const bool beyond = stride == std::numeric_limits<std::int64_t>::min() ||
                        __builtin_mul_overflow(std::abs(stride), index.extent, &distance) ||
                        __builtin_add_overflow(reach, distance, &reach) || reach > most;
    if (beyond) {
      throw UsageError(
          fmt::format("Index {} of {}, with the extent {} and the stride {}, goes beyond the range of addresses.",
                      index.name, tensor_name[tensor], index.extent, stride));
    }
    if (strides.empty()) in_c_order *= index.extent;
  }
}

void expect_separate_elements(const std::vector<Index>& indices) {
  std::vector<Index> of_c;
  for (const Index& index : indices) {
    if (index.index_class == IndexClass::contracted || index.extent == 1) continue;
    if (index.extent == 0) return;
    of_c.push_back(index);
  }
  const auto step = [](const Index& index) { return std::abs(index.stride[C]); };
  std::sort(of_c.begin(), of_c.end(), [&](const Index& x, const Index& y) { return step(x) < step(y); });
  std::int64_t span = 0;
  for (const Index& index : of_c) {
    if (step(index) <= span) {
      throw UsageError(fmt::format(
          "Elements of the result may share memory, because index {} has the stride {} and the other indices span {} "
          "elements; give strides that keep them apart.",
          index.name, index.stride[C], span + 1));
    }
    span += step(index) * (index.extent - 1);
  }
}

/// Returns an index of a batch as an external index if all products of the batch share an operand.
Index without_shared_operand(Index index) {
  if (index.index_class != IndexClass::batch || index.extent == 0) return index;
  if (index.stride[A] == 0) {
    index.index_class = IndexClass::external_b;
  } else if (index.stride[B] == 0) {
    index.index_class = IndexClass::external_a;
  }
  return index;
}

/// Returns true if `fast` continues `slow` without a gap in each tensor, so that both are one index.
bool one_index(const Index& slow, const Index& fast) {
  std::int64_t extent = 0;
  return slow.index_class == fast.index_class && !__builtin_mul_overflow(slow.extent, fast.extent, &extent) &&
         std::all_of(tensors.begin(), tensors.end(),
                     [&](Tensor t) { return slow.stride[t] == fast.stride[t] * fast.extent; });
}

/// Fuses one pair of indices. Returns false if there is none.
bool fuse_a_pair(std::vector<Index>& indices) {
  for (Index& slow : indices) {
    for (const Index& fast : indices) {
      if (&slow == &fast || !one_index(slow, fast)) continue;
      slow = {slow.name + fast.name, slow.index_class, slow.extent * fast.extent, fast.stride};
      indices.erase(indices.begin() + (&fast - indices.data()));
      return true;
    }
  }
  return false;
}

}

bool in_tensor(const Index& index, Tensor tensor) {
  switch (index.index_class) {
    case IndexClass::batch:
      return true;
    case IndexClass::external_a:
      return tensor != B;
    case IndexClass::external_b:
      return tensor != A;
    case IndexClass::contracted:
      return tensor != C;
  }
  return false;
}

std::vector<Index> Contraction::of_class(IndexClass index_class) const {
  std::vector<Index> found;
  for (const Index& index : indices) {
    if (index.index_class == index_class) found.push_back(index);
  }
  return found;
}

bool Contraction::empty_result() const {
  return std::any_of(indices.begin(), indices.end(),
                     [](const Index& index) { return index.extent == 0 && in_tensor(index, C); });
}

bool Contraction::empty_sum() const {
  return std::any_of(indices.begin(), indices.end(), [](const Index& index) {
    return index.extent == 0 && index.index_class == IndexClass::contracted;
  });
}

Contraction describe(std::string_view expression, const Layout& a, const Layout& b, const std::optional<Layout>& c) {
  const Letters letters = split(expression);
  Contraction contraction{indices_of(letters)};
  std::vector<Index>& indices = contraction.indices;
  set_extents(letters[A], A, a, indices);
  set_extents(letters[B], B, b, indices);
  if (c) set_extents(letters[C], C, *c, indices);
  set_strides(letters[A], A, a.strides, indices);
  set_strides(letters[B], B, b.strides, indices);
  set_strides(letters[C], C, c ? c->strides : std::vector<std::int64_t>(), indices);
  expect_separate_elements(indices);
  return contraction;
}

Contraction canonical_form(const Contraction& contraction) {
  Contraction form;
  for (const Index& index : contraction.indices) {
    if (index.extent != 1) form.indices.push_back(without_shared_operand(index));
  }
  if (contraction.empty_result() || contraction.empty_sum()) {
    // The extents of an empty tensor may be too large to be multiplied.
  } else {
    while (fuse_a_pair(form.indices)) {
    }
  }
  std::stable_sort(form.indices.begin(), form.indices.end(), [](const Index& x, const Index& y) {
    if (x.index_class != y.index_class) return x.index_class < y.index_class;
    const Tensor by = x.index_class == IndexClass::contracted ? A : C;
    return std::abs(x.stride[by]) > std::abs(y.stride[by]);
  });
  return form;
}

OffsetRange offset_range(const Contraction& contraction, Tensor tensor) {
  OffsetRange range{0, 0};
  for (const Index& index : contraction.indices) {
    const std::int64_t distance = index.stride[tensor] * (index.extent - 1);
    (distance < 0 ? range.first : range.last) += distance;
  }
  return range;
}

double elements(const Contraction& contraction, Tensor tensor) {
  double count = 1.0;
  for (const Index& index : contraction.indices) {
    if (in_tensor(index, tensor) && (index.stride[tensor] != 0 || index.extent == 0))
      count *= static_cast<double>(index.extent);
  }
  return count;
}

double operations(const Contraction& contraction) {
  double count = 2.0;
  for (const Index& index : contraction.indices) count *= static_cast<double>(index.extent);
  return count;
}

double bytes(const Contraction& contraction, bool reads_c) {
  const double of_c = elements(contraction, C) * (reads_c ? 2.0 : 1.0);
  return static_cast<double>(sizeof(double)) * (elements(contraction, A) + elements(contraction, B) + of_c);
}

double bound(const Contraction& contraction, bool reads_c, double dgemm_rate, double copy_rate) {
  return std::min(dgemm_rate, operations(contraction) / bytes(contraction, reads_c) * copy_rate);
}

}
