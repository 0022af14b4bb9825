#include "cxx/cuda/kernel/check.hpp"
#include "cxx/cuda/kernel/recorded_packing.hpp"

namespace trifuse::gpu {

namespace {

constexpr int threads = 256;
/// Enough to fill a device with the panels of one task; each thread goes on with further elements.
constexpr int blocks_of_job = 264;

/// blockIdx.y counts jobs.
__global__ void pack_pieces(const PackedJob* jobs, const PackedPiece* pieces) {
  const PackedJob& job = jobs[blockIdx.y];
  const Packing shape = job.shape;
  const PackedPiece* const of_job = pieces + job.first_piece;
  const std::int64_t elements = packed_size<Fp64>(shape), stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; n < elements; n += stride) {
    const PackedPlace place = packed_place<Fp64>(shape, n);
    double value = 0.0;
    if (place.inside && job.pieces > 0) {
      // The last piece that begins at or before the inner index.
      int first = 0, last = job.pieces - 1;
      while (first < last) {
        const int middle = (first + last + 1) / 2;
        if (of_job[middle].begin <= place.inner) {
          first = middle;
        } else {
          last = middle - 1;
        }
      }
      const PackedPiece& piece = of_job[first];
      std::int64_t at = (place.inner - piece.begin) * piece.inner_stride;
#pragma unroll
      for (int q = 0; q < 4; ++q) at += place.index[q] * piece.stride[q];
      value = piece.data[at];
    }
    job.packed[place.packed] = value;
  }
}

/// blockIdx.x counts jobs.
__global__ void place_lone_factors(const LoneJob* jobs, int orbitals) {
  const LoneJob job = jobs[blockIdx.x];
  for (int n = static_cast<int>(threadIdx.x); n < job.particles * job.holes; n += threads) {
    const int particle = n % job.particles, hole = n / job.particles;
    job.table[job.first_hole + hole + std::int64_t{orbitals} * (job.first_particle + particle)] = job.t1[n];
  }
}

}  // namespace

void launch_recorded_packing(const PackedJob* jobs, int jobs_count, const PackedPiece* pieces, cudaStream_t stream) {
  pack_pieces<<<dim3(blocks_of_job, static_cast<unsigned>(jobs_count)), threads, 0, stream>>>(jobs, pieces);
  TRIFUSE_CUDA(cudaGetLastError());
}

void launch_lone_factors(const LoneJob* jobs, int jobs_count, int orbitals, cudaStream_t stream) {
  place_lone_factors<<<static_cast<unsigned>(jobs_count), threads, 0, stream>>>(jobs, orbitals);
  TRIFUSE_CUDA(cudaGetLastError());
}

}  // namespace trifuse::gpu
