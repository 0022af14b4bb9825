#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/element_loop.cuh"
#include "cxx/cuda/kernel/packing.cuh"
#include "cxx/cuda/kernel/recorded_packing.hpp"
#include "cxx/cuda/schedule/compiled_precisions.hpp"

namespace trifuse::gpu {

namespace {

/// Number of thread blocks for each job. With it the panels of one task fill a device, and each thread packs several
/// elements.
constexpr int blocks_of_job = 264;

/// Packs the panels of all jobs. blockIdx.y: number of the job.
template <typename Precision>
__global__ void pack_segments(const PackingJob* jobs, const PackingSegment* segments) {
  const PackingJob& job = jobs[blockIdx.y];
  const Packing shape = job.shape;
  const PackingSegment* const segments_of_job = segments + job.first_segment;
  const auto read = [&](const PackedIndices& element) {
    if (job.segments == 0) return 0.0;
    // Finds the last segment that begins at or before the contracted index.
    int first = 0, last = job.segments - 1;
    while (first < last) {
      const int middle = (first + last + 1) / 2;
      if (segments_of_job[middle].begin <= element.contracted) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    const PackingSegment& segment = segments_of_job[first];
    std::int64_t at = (element.contracted - segment.begin) * segment.contracted_stride;
#pragma unroll
    for (int q = 0; q < 4; ++q) at += element.index[q] * segment.stride[q];
    return segment.data[at];
  };
  const bool vvoo = shape.kind == PanelKind::vvoo;
  auto* const operands = static_cast<typename Precision::Operand*>(job.packed);
  if constexpr (Precision::scale_elements > 0) {
    if (!vvoo) {
      pack_with_warps<Precision>(shape, operands, read);
      return;
    }
  }
  for_elements(packed_size<Precision>(shape), [&](std::int64_t n) {
    const PackedIndices element = packed_indices<Precision>(shape, n);
    const double value = element.inside ? read(element) : 0.0;
    if (vvoo) {
      static_cast<double*>(job.packed)[element.packed] = value;
    } else {
      operands[element.packed] = Precision::slice_of(value, element.slice);
    }
  });
}

/// Copies the blocks of all jobs. blockIdx.x: number of the job.
__global__ void scatter_ov_tensors(const OvTensorJob* jobs, int orbitals) {
  const OvTensorJob job = jobs[blockIdx.x];
  for (int n = static_cast<int>(threadIdx.x); n < job.particles * job.holes; n += element_threads) {
    const int particle = n % job.particles, hole = n / job.particles;
    job.table[job.first_hole + hole + std::int64_t{orbitals} * (job.first_particle + particle)] = job.t1[n];
  }
}

template <typename Precision>
void launch_packing_of_segments(const PackingJob* jobs, int jobs_count, const PackingSegment* segments,
                                cudaStream_t stream) {
  const dim3 grid(blocks_of_job, static_cast<unsigned>(jobs_count));
  pack_segments<Precision><<<grid, element_threads, 0, stream>>>(jobs, segments);
  TRIFUSE_CUDA(cudaGetLastError());
}

}

void launch_recorded_packing(const OperandFormat& format, const PackingJob* jobs, int jobs_count,
                             const PackingSegment* segments, cudaStream_t stream) {
  with_precision_of(format, [&]<typename Precision>(Precision) {
    launch_packing_of_segments<Precision>(jobs, jobs_count, segments, stream);
  });
}

void launch_ov_tensors(const OvTensorJob* jobs, int jobs_count, int orbitals, cudaStream_t stream) {
  scatter_ov_tensors<<<static_cast<unsigned>(jobs_count), element_threads, 0, stream>>>(jobs, orbitals);
  TRIFUSE_CUDA(cudaGetLastError());
}

}
