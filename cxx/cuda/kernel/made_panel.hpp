#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

/// Packs panels whose rows have two sources.
namespace trifuse::gpu {

/// The rows of a part of a panel, in device memory. The contracted indices [first_particle, first_particle + particles)
/// of a row lie in `of_particles`, all others without a gap in `of_holes`. Row 0 is the first row of the part.
struct MadeRows {
  const double* of_particles;                 ///< [row, particle]
  const double* of_holes;                     ///< [row, hole]
  std::int64_t particle_stride, hole_stride;  ///< doubles between rows
  std::int32_t first_particle, particles;     ///< first contracted index and number of contracted indices
};

/// Packs the part of a left or right panel that `source` holds. `rows`: the packing, with the strides of packing_of()
/// for rows of one double. `format`, `packed`: as in launch_packing(). Throws Error if no kernel reads this format.
void launch_packing_of_made_rows(const Packing& rows, const OperandFormat& format, const MadeRows& source, void* packed,
                                 cudaStream_t stream);

}  // namespace trifuse::gpu
