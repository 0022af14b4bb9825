#include "tce_tiles/dense/dense_arrays.hpp"

#include <algorithm>
#include <cstdlib>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/shape_text.hpp"

namespace trifuse {

std::string DenseArray::text_of_shape() const {
  return shape_text(shape());
}

std::int64_t DenseArray::size() const {
  return elements_of(shape());
}

void DenseArray::read_all(std::span<double> out) const {
  read(std::vector<std::int64_t>(shape().size(), 0), shape(), out);
}

std::optional<std::int64_t> begin_without_gaps(std::span<const std::int64_t> shape,
                                               std::span<const std::int64_t> stride) {
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 0) return 0;
    if (shape[k] > 1) axes.push_back(k);
  }
  std::sort(axes.begin(), axes.end(), [&](auto x, auto y) { return std::abs(stride[x]) < std::abs(stride[y]); });
  std::int64_t distance = 1, begin = 0;
  for (const std::size_t k : axes) {
    if (std::abs(stride[k]) != distance) return std::nullopt;
    distance *= shape[k];
    if (stride[k] < 0) begin += (shape[k] - 1) * stride[k];
  }
  return begin;
}

}
