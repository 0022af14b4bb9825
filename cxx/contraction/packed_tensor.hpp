#pragma once

#include <cstdint>

#include "cxx/contraction/description.hpp"
#include "cxx/contraction/index_space.hpp"

/// Tensors without gaps, to which a device has copies of the caller's tensors.
namespace trifuse::contraction {

/// Returns the same contraction of tensors without gaps. The indices of each tensor keep the order of their strides; an
/// index of an input with the stride 0 keeps it.
Contraction packed(const Contraction& contraction);

/// A tensor of a contraction and its packed form, see packed(), in parts that follow each other in the packed form. A
/// part is copied at once, through a buffer.
class PackedTensor {
 public:
  /// `part_elements`: size of a part. Most parts have at least half as many elements, none has more. The tensor must
  /// have at least one element.
  PackedTensor(const Contraction& contraction, Tensor tensor, std::int64_t part_elements);

  std::int64_t parts() const { return space_.blocks(); }
  /// Returns the number of elements of a part.
  std::int64_t size(std::int64_t part) const { return space_.block(part).size(); }
  /// Returns the elements of the packed tensor that precede a part.
  std::int64_t begin(std::int64_t part) const;

  /// Copies a part from the tensor. `tensor`: the element at offset 0. `to` [size(part)].
  void pack(std::int64_t part, const double* tensor, double* to, int threads) const;
  /// tensor[...] = beta * tensor[...] + from[...] for a part. Does not read the tensor if `beta` is 0.
  void add(std::int64_t part, const double* from, double beta, double* tensor, int threads) const;

 private:
  Tensor tensor_;
  IndexSpace space_;
};

}
