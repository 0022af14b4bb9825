#include "cxx/moments/tensors.hpp"

#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "cxx/base/share_among_threads.hpp"

namespace trifuse::moments {

namespace {

std::int64_t product(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// Gives each letter one axis: that of a letter which occurs twice is the diagonal. Other errors are found later.
contraction::Layout one_axis_for_each(std::string& letters, const ArrayView& array) {
  if (letters.size() != array.extents.size()) return {array.extents, array.strides};
  std::string single;
  contraction::Layout layout;
  for (std::size_t axis = 0; axis < letters.size(); ++axis) {
    const std::size_t known = single.find(letters[axis]);
    if (known == std::string::npos || layout.extents[known] != array.extents[axis]) {
      single += letters[axis];
      layout.extents.push_back(array.extents[axis]);
      layout.strides.push_back(array.strides[axis]);
    } else {
      layout.strides[known] += array.strides[axis];
    }
  }
  letters = single;
  return layout;
}

}

ArrayView::ArrayView(const double* elements, std::vector<std::int64_t> shape)
    : first(elements), extents(std::move(shape)), strides(extents.size(), 1) {
  for (std::size_t axis = extents.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * extents[axis];
}

ArrayView ArrayView::with_axes(const std::vector<std::size_t>& order) const {
  ArrayView other = *this;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    other.extents[axis] = extents[order[axis]];
    other.strides[axis] = strides[order[axis]];
  }
  return other;
}

std::int64_t Result::size() const {
  return product(extents);
}

OwnedArray::OwnedArray(std::vector<std::int64_t> extents, Contract workplace)
    : extents_(std::move(extents)),
      memory_(Buffer::zeros(static_cast<std::size_t>(product(extents_)))),
      known_(memory_.data(), Forget{workplace}) {
  if (!workplace->is_host()) workplace->set_to_zero(memory_.data(), product(extents_));
}

Result Terms::zeros(double* first, std::vector<std::int64_t> extents) const {
  Result result{first, std::move(extents)};
  contract_->set_to_zero(first, result.size());
  return result;
}

void Terms::add(const Result& c, std::string_view expression, double factor, const ArrayView& a,
                const ArrayView& b) const {
  const std::size_t comma = expression.find(','), arrow = expression.find("->");
  std::string of_a(expression.substr(0, comma)), of_b(expression.substr(comma + 1, arrow - comma - 1));
  const contraction::Layout layout_a = one_axis_for_each(of_a, a), layout_b = one_axis_for_each(of_b, b);
  const std::string single = of_a + "," + of_b + std::string(expression.substr(arrow));
  const contraction::Contraction described =
      contraction::describe(single, layout_a, layout_b, contraction::Layout{c.extents, {}});
  contract_->add(described, factor, a.first, b.first, c.first);
}

void Terms::add(const Result& c, std::string_view expression, double factor, const ArrayView& a) const {
  static constexpr double one = 1.0;  // a workplace may keep it
  const std::size_t arrow = expression.find("->");
  const std::string with_number =
      std::string(expression.substr(0, arrow)) + "," + std::string(expression.substr(arrow));
  add(c, with_number, factor, a, ArrayView(&one, {}));
}

void Terms::antisymmetrise(const Result& x, std::size_t first, std::size_t second) const {
  if (!contract_->is_host()) {
    OwnedArray copy = make(x.extents);
    add(copy.result(), "pqrs->pqrs", 1.0, x.view());
    std::vector<std::size_t> order = {0, 1, 2, 3};
    std::swap(order[first], order[second]);
    return add(x, "pqrs->pqrs", -1.0, copy.view().with_axes(order));
  }
  const std::vector<std::int64_t> strides = x.view().strides;
  const std::size_t other = 3 - first - second;
  const std::int64_t extent = x.extents[first], row = x.extents[3];
  share_in_turns(static_cast<std::size_t>(x.extents[other]), threads_, [&](std::size_t outer) {
    double* const begin = x.first + static_cast<std::int64_t>(outer) * strides[other];
    for (std::int64_t p = 0; p < extent; ++p) {
      for (std::int64_t q = 0; q <= p; ++q) {
        double* const pq = begin + p * strides[first] + q * strides[second];
        double* const qp = begin + q * strides[first] + p * strides[second];
        for (std::int64_t n = 0; n < row; ++n) {
          const double difference = pq[n] - qp[n];
          pq[n] = difference;
          qp[n] = -difference;
        }
      }
    }
  });
}

}
