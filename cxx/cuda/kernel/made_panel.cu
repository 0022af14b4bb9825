#include "cxx/cuda/kernel/made_panel.hpp"

#include <algorithm>

#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

template <typename Precision>
__global__ void pack_made_rows(Packing rows, MadeRows source, typename Precision::Operand* packed,
                               std::int64_t elements) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedIndices at = packed_indices<Precision>(rows, n);
    double value = 0.0;
    if (at.inside) {
      std::int64_t row = 0;
      for (int q = 0; q < 3; ++q) row += (at.index[q] - (q == rows.outer ? rows.outer_begin : 0)) * rows.stride[q];
      const int particle = at.contracted - source.first_particle;
      if (particle >= 0 && particle < source.particles) {
        value = source.of_particles[row * source.particle_stride + particle];
      } else {
        const int hole = particle < 0 ? at.contracted : at.contracted - source.particles;
        value = source.of_holes[row * source.hole_stride + hole];
      }
    }
    packed[at.packed] = at.inside ? Precision::slice_of(value, at.slice) : typename Precision::Operand{};
  }
}

}  // namespace

void launch_packing_of_made_rows(const Packing& rows, const OperandFormat& format, const MadeRows& source, void* packed,
                                 cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    const std::int64_t elements = packed_size_of_part<Precision>(rows);
    constexpr int threads = 256;
    const auto grid = static_cast<unsigned>(std::min<std::int64_t>(ceil_div(elements, threads), 65536));
    if (grid == 0) return;
    pack_made_rows<Precision>
        <<<grid, threads, 0, stream>>>(rows, source, static_cast<typename Precision::Operand*>(packed), elements);
    TRIFUSE_CUDA(cudaGetLastError());
  });
}

}  // namespace trifuse::gpu
