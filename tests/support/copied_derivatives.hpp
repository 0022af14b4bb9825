#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "cxx/calculation/derivative_arrays.hpp"

namespace trifuse::testing {

/// Returns all derivatives by their names, C order.
inline std::map<std::string, std::vector<double>> arrays_of(const DerivativeArrays& derivatives) {
  std::map<std::string, std::vector<double>> arrays;
  for (const DerivativeArrays::Array& array : derivatives.list()) {
    std::vector<double>& values = arrays[array.name];
    values.resize(static_cast<std::size_t>(array.size()));
    derivatives.copy(array.name, 0, array.slices(), values);
  }
  return arrays;
}

}
