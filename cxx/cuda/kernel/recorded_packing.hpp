#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

/// From the operands of a recorded task, in the device's memory as NWChem hands them over, to packed panels.
namespace trifuse::gpu {

/// Part of the inner index of a panel: one operand.
struct PackedPiece {
  const double* data;
  std::int64_t inner_stride;
  std::int64_t stride[4];  ///< along the positions of `Packing`
  std::int32_t begin;      ///< first inner index in the panel
  std::int32_t padding;
};

/// A panel made of `pieces` from `first_piece` on, in ascending order of inner indices; zeros without pieces. Extents,
/// kind and inner index of `shape` count, its strides do not.
struct PackedJob {
  Packing shape;
  double* packed;
  std::int32_t first_piece, pieces;
};

/// Packs all panels in one launch.
void launch_recorded_packing(const PackedJob* jobs, int jobs_count, const PackedPiece* pieces, cudaStream_t stream);

/// A block t1 [particle, hole], particle fastest, on its way to the table [hole, particle] over all orbitals.
struct LoneJob {
  const double* t1;
  double* table;  ///< of its set
  std::int32_t particles, holes;
  std::int32_t first_particle, first_hole;  ///< orbitals
};

void launch_lone_factors(const LoneJob* jobs, int jobs_count, int orbitals, cudaStream_t stream);

}  // namespace trifuse::gpu
