#include "tce_tiles/dense_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trifuse {

std::string DenseArray::text_of_shape() const {
  return shape_text(shape());
}

std::int64_t DenseArray::size() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape()) n *= extent;
  return n;
}

void DenseArray::read_all(std::span<double> out) const {
  read(std::vector<std::int64_t>(shape().size(), 0), shape(), out);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

}  // namespace trifuse
