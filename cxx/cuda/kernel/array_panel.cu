#include "cxx/cuda/kernel/array_panel.hpp"

#include "cxx/cuda/kernel/packing.cuh"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

/// Reads a panel from dense arrays.
struct ReadArrays {
  ArrayRows rows;
  __device__ __forceinline__ double operator()(const Packing&, const PackedIndices& at) const {
    return array_number(rows, at);
  }
};

}

void launch_packing_of_arrays(const Packing& packing, const OperandFormat& format, const ArrayRows& rows, void* packed,
                              cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    launch_packing_in<Precision>(packing, ReadArrays{rows}, packed, stream);
  });
}

}
