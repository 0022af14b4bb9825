#pragma once

#include <cstdint>

#include "cxx/cuda/kernel/register_lists.cuh"

/// The instruction wgmma, with which four warps multiply FP16 numbers in shared memory. Needs compute capability 9.0a.
///
/// The four warps must call these functions together. Warp n of the four has lines 16 n to 16 n + 15 of operand m.
/// d[first + c][e] of lane 4 r + q is the sum for line r + 8 (e / 2) of these lines and for line 8 c + 2 q + e % 2 of
/// operand n.
namespace trifuse::gpu {

constexpr int descriptor_unit = 16;

/// Returns the low word of the descriptor of an operand that begins at `address` in shared memory. The operand consists
/// of core matrices of 8 lines and 8 contracted indices (128 bytes). The next core matrix along the contracted index is
/// `k_core_bytes` further. To move the operand by n bytes, n / descriptor_unit is added.
__device__ __forceinline__ unsigned operand_descriptor(unsigned address, int k_core_bytes) {
  return address / descriptor_unit + (static_cast<unsigned>(k_core_bytes / descriptor_unit) << 16);
}

/// Starts d[m, n] += sum_k m[m, k] n[n, k] for 16 contracted indices, 64 lines m, and 64 or 128 lines n. `m`, `n`:
/// descriptors. `line_core_bytes`: bytes from one core matrix to the next along the lines, for both operands. `fresh`:
/// true if d is overwritten. The numbers d must not be touched until wait_for_multiplications().
template <int line_core_bytes, bool fresh, int first, int size>
__device__ __forceinline__ void multiply_by_64(float (&d)[size][4], unsigned m, unsigned n) {
  static_assert(first + 8 <= size);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (fresh) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        ".reg .b64 m, n;\n"
        "mov.b64 m, {%32, %34};\n"
        "mov.b64 n, {%33, %34};\n"
        "setp.ne.b32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
        "}, m, n, add, 1, 1, 0, 0;\n"
        "}\n"
        : TRIFUSE_FOUR_ROWS("=f", d, first + 0), TRIFUSE_FOUR_ROWS("=f", d, first + 4)
        : "r"(m), "r"(n), "n"(line_core_bytes / descriptor_unit));
  } else {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        ".reg .b64 m, n;\n"
        "mov.b64 m, {%32, %34};\n"
        "mov.b64 n, {%33, %34};\n"
        "setp.ne.b32 add, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
        "}, m, n, add, 1, 1, 0, 0;\n"
        "}\n"
        : TRIFUSE_FOUR_ROWS("+f", d, first + 0), TRIFUSE_FOUR_ROWS("+f", d, first + 4)
        : "r"(m), "r"(n), "n"(line_core_bytes / descriptor_unit));
  }
#endif
}
template <int line_core_bytes, bool fresh, int first, int size>
__device__ __forceinline__ void multiply_by_128(float (&d)[size][4], unsigned m, unsigned n) {
  static_assert(first + 16 <= size);
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  if constexpr (fresh) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        ".reg .b64 m, n;\n"
        "mov.b64 m, {%64, %66};\n"
        "mov.b64 n, {%65, %66};\n"
        "setp.ne.b32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
        ", " TRIFUSE_REGISTERS_32 ", " TRIFUSE_REGISTERS_48
        "}, m, n, add, 1, 1, 0, 0;\n"
        "}\n"
        : TRIFUSE_FOUR_ROWS("=f", d, first + 0), TRIFUSE_FOUR_ROWS("=f", d, first + 4),
          TRIFUSE_FOUR_ROWS("=f", d, first + 8), TRIFUSE_FOUR_ROWS("=f", d, first + 12)
        : "r"(m), "r"(n), "n"(line_core_bytes / descriptor_unit));
  } else {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        ".reg .b64 m, n;\n"
        "mov.b64 m, {%64, %66};\n"
        "mov.b64 n, {%65, %66};\n"
        "setp.ne.b32 add, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
        ", " TRIFUSE_REGISTERS_32 ", " TRIFUSE_REGISTERS_48
        "}, m, n, add, 1, 1, 0, 0;\n"
        "}\n"
        : TRIFUSE_FOUR_ROWS("+f", d, first + 0), TRIFUSE_FOUR_ROWS("+f", d, first + 4),
          TRIFUSE_FOUR_ROWS("+f", d, first + 8), TRIFUSE_FOUR_ROWS("+f", d, first + 12)
        : "r"(m), "r"(n), "n"(line_core_bytes / descriptor_unit));
  }
#endif
}

/// Must be called after the last change of the sums, and before the first of several multiplications.
__device__ __forceinline__ void begin_multiplications() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
/// Closes a group of multiplications that were started.
__device__ __forceinline__ void commit_multiplications() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
/// Waits until at most `pending` of the last groups are not complete.
template <int pending>
__device__ __forceinline__ void wait_for_multiplications() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#endif
}

}
