#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

/// Makes packed panels from the operands of a recorded task. The operands are in device memory, in NWChem's layouts.
namespace trifuse::gpu {

/// The part of a panel that comes from one operand: a range of contracted indices.
struct PackingSegment {
  const double* data;              ///< first number, in device memory
  std::int64_t contracted_stride;  ///< doubles from one contracted index to the next
  std::int64_t stride[4];          ///< [position] doubles, see Packing
  std::int32_t begin;              ///< first contracted index of the segment in the panel
  std::int32_t padding;
};

/// A panel to be packed.
struct PackingJob {
  Packing shape;  ///< kind, extents and contracted index; strides and outer range are not used
  void* packed;   ///< destination in device memory
  /// The panel consists of `segments` segments from `first_segment` on, with ascending `begin`. Without segments all
  /// its elements are zero.
  std::int32_t first_segment, segments;
};

/// Packs all panels in one launch. `format`: format of left and right panels. `jobs` [jobs_count] and the `segments` of
/// all jobs lie in device memory. Throws Error if no kernel reads this format.
void launch_recorded_packing(const OperandFormat& format, const PackingJob* jobs, int jobs_count,
                             const PackingSegment* segments, cudaStream_t stream);

/// A block of t1 or f_ov that goes into the table of its set. Both are in device memory.
struct OvTensorJob {
  const double* t1;                         ///< [hole, particle] of two orbital tiles
  double* table;                            ///< [particle orbital, hole orbital] over all orbitals
  std::int32_t particles, holes;            ///< extents of the block
  std::int32_t first_particle, first_hole;  ///< first orbitals of the block in the table
};

/// Copies all blocks into their tables in one launch. `jobs` [jobs_count] lies in device memory. `orbitals`: extent of
/// each index of the tables.
void launch_ov_tensors(const OvTensorJob* jobs, int jobs_count, int orbitals, cudaStream_t stream);

}
