#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cxx/cuda/schedule/layout.hpp"

/// Packs panels whose rows consist of integrals made on the device and of amplitudes from the host.
namespace trifuse::gpu {

/// The rows of a part of a panel, in device memory. The contracted indices [first_integral, first_integral + integrals)
/// of a row lie in `integral_rows`. All others lie in `amplitude_rows`, without a gap. Row 0 is the first row of the
/// part.
struct MadeRows {
  const double* integral_rows;                     ///< [row, contracted index] integrals, made from factors
  const double* amplitude_rows;                    ///< [row, contracted index]
  std::int64_t integral_stride, amplitude_stride;  ///< doubles between rows
  std::int32_t first_integral, integrals;          ///< first contracted index and number of contracted indices
};

/// Packs the part of a left or right panel that `source` contains. `rows`: the packing by packing_of() for rows of one
/// double. `format`, `packed`: see launch_packing(). Throws Error if no kernel reads this format.
void launch_packing_of_made_rows(const Packing& rows, const OperandFormat& format, const MadeRows& source, void* packed,
                                 cudaStream_t stream);

}
