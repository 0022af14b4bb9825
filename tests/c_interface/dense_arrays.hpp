#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fortran_iface/trifuse_arrays.h"
#include "tests/support/held_arrays.hpp"

namespace trifuse::testing {

inline std::int32_t call_reader(void* context, const std::int64_t* offset, const std::int64_t* count, double* box) {
  const auto& array = *static_cast<const CallerArray*>(context);
  const std::size_t rank = array.shape.size();
  std::int64_t size = 1;
  for (std::size_t k = 0; k < rank; ++k) size *= count[k];
  array.reader({offset, rank}, {count, rank}, {box, static_cast<std::size_t>(size)});
  return 0;
}

/// Arrays in memory, as the C interface describes them.
struct DenseDescription {
  explicit DenseDescription(const HeldArrays& held, std::int32_t reference) {
    for (const CallerArray& array : held.arrays()) {
      trifuse_array& each = arrays.emplace_back();
      each.name = array.name.c_str();
      each.data = array.data;
      each.type = array.type == CallerArray::Type::int32 ? TRIFUSE_INT32 : TRIFUSE_FLOAT64;
      each.rank = static_cast<std::int64_t>(array.shape.size());
      each.shape = array.shape.data();
      each.strides = array.strides.empty() ? nullptr : array.strides.data();
      if (!array.reader) continue;
      each.reader = call_reader;
      each.context = const_cast<CallerArray*>(&array);
    }
    all.size = sizeof all;
    all.array_size = sizeof(trifuse_array);
    all.count = static_cast<std::int64_t>(arrays.size());
    all.arrays = arrays.data();
    all.reference = reference;
    all.correlation_energy = all.scf_energy = std::numeric_limits<double>::quiet_NaN();
  }
  DenseDescription(const DenseDescription&) = delete;
  DenseDescription& operator=(const DenseDescription&) = delete;

  trifuse_array& array(const std::string& name) {
    for (trifuse_array& each : arrays) {
      if (name == each.name) return each;
    }
    throw std::runtime_error("no array " + name);
  }

  std::vector<trifuse_array> arrays;
  trifuse_arrays all{};
};

}
