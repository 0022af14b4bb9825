#pragma once

#include "cxx/cuda/schedule/configuration.hpp"

/// The instructions of the kernels. A function with FP64 operands adds one k-step of a fragment, C[16, 8] += A[16, 8]
/// B[8, 8]. It uses the lanes and registers of the instruction m16n8k8:
///
///     A  lane 4 r + q: (r, q), (r + 8, q), (r, q + 4), (r + 8, q + 4)        r = 0..7, q = 0..3
///     B  lane 4 n + q: (q, n), (q + 4, n)
///     C  lane 4 r + q: (r, 2 q), (r, 2 q + 1), (r + 8, 2 q), (r + 8, 2 q + 1)
namespace trifuse::gpu {

/// Executes one FP64 matrix instruction m16n8k8. Needs compute capability 9.0.
__device__ __forceinline__ void multiply(MmaM16N8K8, double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#endif
}

/// Executes four FP64 matrix instructions m8n8k4. Needs compute capability 8.0.
__device__ __forceinline__ void multiply(MmaM8N8K4, double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#if __CUDA_ARCH__ >= 800
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                   : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                   : "d"(a[2 * k + half]), "d"(b[k]));
#endif
    }
  }
}

/// Executes one FP16 matrix instruction m16n8k16 with FP32 sums. Its fragments of C have the lanes of m16n8k8; for the
/// lanes of A and B see Fragments. `fresh`: true if the instruction overwrites C. Needs compute capability 8.0.
template <bool fresh>
__device__ __forceinline__ void multiply_halves(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (fresh) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
        : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(0.0f));
  } else {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

/// Executes ordinary multiply-adds, for GPUs with few FP64 units. Lanes exchange operands by shuffles. The FP64 units
/// limit the speed, so the shuffles take no additional time.
__device__ __forceinline__ void multiply(Fma, double (&c)[4], const double (&a)[4], const double (&b)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / 4, column = lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll 1
    for (int q = 0; q < 4; ++q) {
      const double a0 = __shfl_sync(~0u, a[2 * half], row * 4 + q);
      const double a1 = __shfl_sync(~0u, a[2 * half + 1], row * 4 + q);
      const double b0 = __shfl_sync(~0u, b[half], column * 4 + q);
      const double b1 = __shfl_sync(~0u, b[half], column * 4 + 4 + q);
      c[0] = fma(a0, b0, c[0]);
      c[1] = fma(a0, b1, c[1]);
      c[2] = fma(a1, b0, c[2]);
      c[3] = fma(a1, b1, c[3]);
    }
  }
}

}
