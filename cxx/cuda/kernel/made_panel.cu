#include "cxx/cuda/kernel/made_panel.hpp"

#include "cxx/cuda/kernel/packing.cuh"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

/// Reads a panel from made rows. The strides of its packing are those for rows of one double.
struct ReadMadeRows {
  MadeRows source;
  __device__ __forceinline__ double operator()(const Packing& rows, const PackedIndices& at) const {
    std::int64_t row = 0;
    for (int q = 0; q < 3; ++q) row += (at.index[q] - (q == rows.outer ? rows.outer_begin : 0)) * rows.stride[q];
    const int integral = at.contracted - source.first_integral;
    if (integral >= 0 && integral < source.integrals) {
      return source.integral_rows[row * source.integral_stride + integral];
    }
    const int amplitude = integral < 0 ? at.contracted : at.contracted - source.integrals;
    return source.amplitude_rows[row * source.amplitude_stride + amplitude];
  }
};

}

void launch_packing_of_made_rows(const Packing& rows, const OperandFormat& format, const MadeRows& source, void* packed,
                                 cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    launch_packing_in<Precision>(rows, ReadMadeRows{source}, packed, stream);
  });
}

}
