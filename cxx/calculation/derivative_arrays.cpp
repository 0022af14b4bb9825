#include "cxx/calculation/derivative_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

#include "cxx/base/error.hpp"
#include "cxx/base/printable.hpp"

namespace trifuse {

namespace {

/// Characters of a wrong name that a message repeats.
constexpr std::size_t longest_name = 64;

}

std::int64_t DerivativeArrays::Array::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t DerivativeArrays::Array::slices() const {
  return shape.empty() ? 1 : shape.front();
}

const DerivativeArrays::Array& DerivativeArrays::find(const std::string& name) const {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Array& array) { return array.name == name; });
  if (found != list_.end()) return *found;
  std::string names;
  for (const Array& array : list_) names += (names.empty() ? "" : ", ") + array.name;
  throw UsageError(fmt::format("The last run computed no derivatives by \"{}\"; it has those by {}.",
                               printable(name.substr(0, longest_name)), names));
}

void DerivativeArrays::copy(const std::string& name, std::int64_t first, std::int64_t count,
                            std::span<double> values) const {
  const Array& array = find(name);
  const std::int64_t slices = array.slices();
  if (first < 0 || count < 0 || first > slices || count > slices - first) {
    throw UsageError(
        fmt::format("Of the {} slices of the derivatives by {}, {} behind the first {} were asked for; ask for "
                    "slices that exist.",
                    slices, name, count, first));
  }
  const std::int64_t size = slices == 0 ? 0 : array.size() / slices * count;
  if (std::ssize(values) != size) {
    throw UsageError(
        fmt::format("{} of {} slices of the derivatives by {} have {} elements, but the array for them has {}.", count,
                    slices, name, size, values.size()));
  }
  if (size > 0) make(static_cast<std::size_t>(&array - list_.data()), first, count, values);
}

}
