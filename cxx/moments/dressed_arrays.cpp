#include "cxx/moments/dressed_arrays.hpp"

#include <cstddef>

#include "cxx/moments/moment_operands.hpp"

namespace trifuse::moments {

double* DressedArrays::add(const std::string& name, const std::string& bare, std::vector<std::int64_t> shape) {
  CallerArray array;
  array.name = name;
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  Buffer& memory = memory_.emplace_back(size);
  array.data = memory.data();
  array.shape = std::move(shape);
  described_.push_back(std::move(array));
  replaced_.insert({bare, name});
  return memory.data();
}

std::vector<NewArray> add_new(DressedArrays& arrays, const DenseHeader& header, ArrayKind kind) {
  const bool closed_shell = header.restricted;
  std::vector<NewArray> results;
  for (const Spin s : both_spins) {
    for (const Spin t : both_spins) {
      if (closed_shell && (s == beta || t == alpha)) continue;
      const ArraySpec plain = array_spec(kind, closed_shell, s, t),
                      asym = antisymmetrised_alternative(plain).value_or(plain);
      if (header.size(plain) == 0) continue;
      const auto shape = header.shape(plain);
      results.push_back({s, t, shape, arrays.add(asym.name, plain.name, shape)});
    }
  }
  return results;
}

std::shared_ptr<DenseInput> with_arrays(const DenseInput& input, std::shared_ptr<DressedArrays> arrays) {
  arrays->finish();
  auto dressed = std::make_shared<DenseInput>();
  dressed->header = input.header;
  dressed->arrays = std::move(arrays);
  return dressed;
}

}
