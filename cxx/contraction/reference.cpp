#include "cxx/contraction/reference.hpp"

#include <span>

namespace trifuse::contraction {

namespace {

/// Calls `body(a, b, c)` with the offsets of the three tensors for all values of `indices`. Offsets begin at `offset`.
template <typename Body>
void for_all_values(std::span<const Index> indices, std::array<std::int64_t, 3> offset, const Body& body) {
  if (indices.empty()) return body(offset);
  const Index& index = indices.front();
  for (std::int64_t value = 0; value < index.extent; ++value) {
    for_all_values(indices.subspan(1), offset, body);
    for (const Tensor t : {A, B, C}) offset[t] += index.stride[t];
  }
}

}

void contract_by_loops(const Contraction& contraction, double alpha, const double* a, const double* b, double beta,
                       double* c) {
  std::vector<Index> outer;
  for (const IndexClass kind : {IndexClass::batch, IndexClass::external_a, IndexClass::external_b}) {
    for (const Index& index : contraction.of_class(kind)) outer.push_back(index);
  }
  const std::vector<Index> inner = contraction.of_class(IndexClass::contracted);
  for_all_values(outer, {0, 0, 0}, [&](const std::array<std::int64_t, 3>& element) {
    double sum = 0.0;
    if (alpha != 0.0) {
      for_all_values(inner, element, [&](const std::array<std::int64_t, 3>& term) { sum += a[term[A]] * b[term[B]]; });
    }
    double& result = c[element[C]];
    result = alpha * sum + (beta == 0.0 ? 0.0 : beta * result);
  });
}

}
