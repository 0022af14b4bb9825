#include "cxx/contraction/packed_tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "cxx/contraction/copy_axes.hpp"

namespace trifuse::contraction {

namespace {

/// Returns the indices whose values are different elements of a tensor, in C order of the packed form.
std::vector<Index> packed_order(const Contraction& contraction, Tensor tensor) {
  std::vector<Index> order;
  for (const Index& index : contraction.indices) {
    if (index.stride[tensor] != 0) order.push_back(index);
  }
  std::stable_sort(order.begin(), order.end(), [&](const Index& x, const Index& y) {
    return std::abs(x.stride[tensor]) > std::abs(y.stride[tensor]);
  });
  return order;
}

}

Contraction packed(const Contraction& contraction) {
  Contraction found = contraction;
  for (const Tensor t : {A, B, C}) {
    const std::vector<Index> order = packed_order(contraction, t);
    std::int64_t stride = 1;
    for (std::size_t n = order.size(); n-- > 0;) {
      const auto same = [&](const Index& index) { return index.name == order[n].name; };
      std::find_if(found.indices.begin(), found.indices.end(), same)->stride[t] = stride;
      stride *= order[n].extent;
    }
  }
  return found;
}

PackedTensor::PackedTensor(const Contraction& contraction, Tensor tensor, std::int64_t part_elements)
    : tensor_(tensor), space_(packed_order(contraction, tensor)) {
  space_.cut_to(part_elements, 0);
}

std::int64_t PackedTensor::begin(std::int64_t part) const {
  if (space_.axes().empty()) return 0;
  const std::int64_t ranges = space_.ranges(), extent = space_.axes()[space_.cut_axis()].extent;
  return (part / ranges * extent + part % ranges * space_.step()) * space_.inside();
}

void PackedTensor::pack(std::int64_t part, const double* tensor, double* to, int threads) const {
  const IndexSpace block = space_.block(part);
  CopyAxes axes;
  axes.add(block, 0, tensor_, 1);
  share_copy(axes.span(), tensor + block.offset()[tensor_], to, threads);
}

void PackedTensor::add(std::int64_t part, const double* from, double beta, double* tensor, int threads) const {
  const IndexSpace block = space_.block(part);
  CopyAxes axes;
  axes.add(block, 0, tensor_, 1, false);
  share_add(axes.span(), from, beta, tensor + block.offset()[tensor_], threads);
}

}
