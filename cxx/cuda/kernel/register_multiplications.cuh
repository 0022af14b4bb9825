#pragma once

#include "cxx/cuda/kernel/register_lists.cuh"
#include "cxx/cuda/kernel/warpgroup_instructions.cuh"

/// The instruction wgmma with operand m in registers, and operand n in shared memory with its lines contiguous. Needs
/// compute capability 9.0a. See warpgroup_instructions.cuh for the sums d and for the order of the calls.
///
/// Lane 4 r + q of warp w holds four pairs of FP16 numbers of operand m: lines 16 w + r + 8 (j % 2), contracted indices
/// 8 (j / 2) + 2 q and the next one, in register j. A core matrix of operand n is 8 contracted indices times 8 lines.
namespace trifuse::gpu {

/// Starts d[m, n] += sum_k m[m, k] n[k, n] for 16 contracted indices, 64 lines m, and 8 lines n for each row of d. `n`:
/// descriptor, see operand_descriptor(); its core matrices along the lines are `line_core_bytes` apart. `fresh`: true
/// if d is overwritten. Neither d nor m may be touched until wait_for_multiplications().
template <int line_core_bytes, bool fresh>
__device__ __forceinline__ void multiply_registers(float (&d)[4][4], const unsigned (&m)[4], unsigned n) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      ".reg .b64 n;\n"
      "mov.b64 n, {%20, %21};\n"
      "setp.ne.b32 add, %22, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0
      "}, {%16, %17, %18, %19}, n, add, 1, 1, 1;\n"
      "}\n"
      : TRIFUSE_FOUR_ROWS("+f", d, 0)
      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "n"(line_core_bytes / descriptor_unit), "n"(fresh ? 0 : 1));
#endif
}
template <int line_core_bytes, bool fresh>
__device__ __forceinline__ void multiply_registers(float (&d)[8][4], const unsigned (&m)[4], unsigned n) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      ".reg .b64 n;\n"
      "mov.b64 n, {%36, %37};\n"
      "setp.ne.b32 add, %38, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
      "}, {%32, %33, %34, %35}, n, add, 1, 1, 1;\n"
      "}\n"
      : TRIFUSE_FOUR_ROWS("+f", d, 0), TRIFUSE_FOUR_ROWS("+f", d, 4)
      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "n"(line_core_bytes / descriptor_unit), "n"(fresh ? 0 : 1));
#endif
}
template <int line_core_bytes, bool fresh>
__device__ __forceinline__ void multiply_registers(float (&d)[12][4], const unsigned (&m)[4], unsigned n) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      ".reg .b64 n;\n"
      "mov.b64 n, {%52, %53};\n"
      "setp.ne.b32 add, %54, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
      ", " TRIFUSE_REGISTERS_32
      "}, {%48, %49, %50, %51}, n, add, 1, 1, 1;\n"
      "}\n"
      : TRIFUSE_FOUR_ROWS("+f", d, 0), TRIFUSE_FOUR_ROWS("+f", d, 4), TRIFUSE_FOUR_ROWS("+f", d, 8)
      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "n"(line_core_bytes / descriptor_unit), "n"(fresh ? 0 : 1));
#endif
}
template <int line_core_bytes, bool fresh>
__device__ __forceinline__ void multiply_registers(float (&d)[16][4], const unsigned (&m)[4], unsigned n) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      ".reg .b64 n;\n"
      "mov.b64 n, {%68, %69};\n"
      "setp.ne.b32 add, %70, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
      ", " TRIFUSE_REGISTERS_32 ", " TRIFUSE_REGISTERS_48
      "}, {%64, %65, %66, %67}, n, add, 1, 1, 1;\n"
      "}\n"
      : TRIFUSE_FOUR_ROWS("+f", d, 0), TRIFUSE_FOUR_ROWS("+f", d, 4), TRIFUSE_FOUR_ROWS("+f", d, 8),
        TRIFUSE_FOUR_ROWS("+f", d, 12)
      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "n"(line_core_bytes / descriptor_unit), "n"(fresh ? 0 : 1));
#endif
}
template <int line_core_bytes, bool fresh>
__device__ __forceinline__ void multiply_registers(float (&d)[20][4], const unsigned (&m)[4], unsigned n) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred add;\n"
      ".reg .b64 n;\n"
      "mov.b64 n, {%84, %85};\n"
      "setp.ne.b32 add, %86, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 {" TRIFUSE_REGISTERS_0 ", " TRIFUSE_REGISTERS_16
      ", " TRIFUSE_REGISTERS_32 ", " TRIFUSE_REGISTERS_48 ", " TRIFUSE_REGISTERS_64
      "}, {%80, %81, %82, %83}, n, add, 1, 1, 1;\n"
      "}\n"
      : TRIFUSE_FOUR_ROWS("+f", d, 0), TRIFUSE_FOUR_ROWS("+f", d, 4), TRIFUSE_FOUR_ROWS("+f", d, 8),
        TRIFUSE_FOUR_ROWS("+f", d, 12), TRIFUSE_FOUR_ROWS("+f", d, 16)
      : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n), "n"(line_core_bytes / descriptor_unit), "n"(fresh ? 0 : 1));
#endif
}

}
