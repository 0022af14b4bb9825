#pragma once

#include <cstdint>
#include <span>

/// Copies of boxes with any number of axes and any strides: packing of operands, and unpacking of results.
namespace trifuse::contraction {

/// An axis of a copied box.
struct CopyAxis {
  std::int64_t extent;    ///< number of values
  std::int64_t from, to;  ///< elements from one value to the next, where elements are read and written
};

/// to[...] = from[...]. The written elements must not overlap. At most 24 axes.
void copy_axes(std::span<const CopyAxis> axes, const double* from, double* to);

/// to[...] = beta * to[...] + from[...]; does not read `to` if `beta` is 0.
void add_axes(std::span<const CopyAxis> axes, const double* from, double beta, double* to);

/// to[...] = beta * to[...]; does not read `to` if `beta` is 0.
void scale_axes(std::span<const CopyAxis> axes, double beta, double* to);

/// Do the same as `copy_axes` and `add_axes` on several threads.
void share_copy(std::span<const CopyAxis> axes, const double* from, double* to, int threads);
void share_add(std::span<const CopyAxis> axes, const double* from, double beta, double* to, int threads);

}
