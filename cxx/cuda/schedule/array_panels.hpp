#pragma once

#include <array>
#include <cstdint>

#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/triples/problem.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"

/// Where the numbers of panels stand in the dense arrays of a closed shell: t2[i,j,a,b], ovvv[i,a,b,c] = (ia|bc),
/// ovoo[i,a,j,k] = (ia|jk) and ovov[i,a,j,b] = (ia|jb). In the spin-adapted formulation each number of a panel is one
/// number of an array.
namespace trifuse::gpu {

/// Where the numbers of a panel stand, without the zeros that fill up fragments. Positions of indices are those of a
/// Packing.
struct ArrayRows {
  /// A part whose numbers are in one array. Number (q0, q1, q2, q3, x) is sign * first[q0 * stride[0] + ... + x *
  /// contracted_stride].
  struct Part {
    const double* first;
    std::int64_t stride[4];  ///< [position]
    std::int64_t contracted_stride;
    double sign;
  };
  Part of_particles;       ///< the contracted indices below `particles`; all numbers of a vvoo block
  Part of_holes;           ///< the other contracted indices, counted from `particles`
  std::int32_t particles;  ///< number of contracted indices in `of_particles`; 1 for a vvoo block
};

/// Returns a number of the panel. `at`: its indices, inside the panel.
constexpr TRIFUSE_HOST_DEVICE double array_number(const ArrayRows& rows, const PackedIndices& at) {
  const bool particle = at.contracted < rows.particles;
  const ArrayRows::Part& part = particle ? rows.of_particles : rows.of_holes;
  std::int64_t offset = (particle ? at.contracted : at.contracted - rows.particles) * part.contracted_stride;
  for (int q = 0; q < 4; ++q) offset += at.index[q] * part.stride[q];
  return part.sign * part.first[offset];
}

/// The arrays from which the panels of a side or the vvoo blocks of a set are packed. An array that no panel reads may
/// be null.
struct PanelArrays {
  StridedView t2, ovvv, ovoo, ovov;
};

/// Returns true if a problem is spin-adapted and no panel belongs to two sides. Then each number of a panel is one
/// number of an array.
inline bool has_array_panels(const Problem& problem) {
  return problem.formulation == SpinFormulation::spin_adapted && !problem.joins_sides();
}

/// Returns where the numbers of a left, right or vvoo panel stand in `arrays`, those of its side or of its set.
/// `space`: the tiles of the panels. `name`: a panel of a problem with has_array_panels(). `tensor`: for a vvoo block,
/// the vvoo tensor of its set; not used for other panels.
ArrayRows rows_in_arrays(const TileSpace& space, const PanelName& name, VvooTensor tensor, const PanelArrays& arrays);

}
