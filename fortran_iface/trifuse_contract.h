/* Contractions of two tensors of the calling program, for C. They have nothing to do with amplitudes, and need no
 * handles.
 *
 *     double a[10][30][20], b[30][40], c[40][10][20];
 *     const int64_t of_a[] = {10, 30, 20}, of_b[] = {30, 40};
 *     const trifuse_layout layout_a = {3, of_a, NULL}, layout_b = {2, of_b, NULL};
 *     trifuse_status status;
 *     trifuse_contract(&status, "aei,eb->bai", 1.0, &a[0][0][0], &layout_a, &b[0][0], &layout_b, 0.0, &c[0][0][0],
 * NULL, 0);
 */
#ifndef TRIFUSE_CONTRACT_H
#define TRIFUSE_CONTRACT_H

#ifndef TRIFUSE_H /* <trifuse/trifuse_contract.h> has included it, from a folder that the compiler need not know */
#include "fortran_iface/trifuse.h"
#endif

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* The place of the elements of a tensor. */
typedef struct trifuse_layout {
  int64_t rank;           /* number of axes, 0 to 12 */
  const int64_t* extents; /* extents[rank], number of elements along each axis, 0 or more */
  const int64_t* strides; /* strides[rank], distance of neighbours along each axis in elements; null: C order without
                             gaps. May be negative, and for A and B also 0. A tensor with the shape [n,m] in Fortran
                             order has the strides {1, n} */
} trifuse_layout;

/* Computes C = alpha sum A B + beta C on CPU cores. The sum runs over the indices that A and B have and C lacks.
 *
 * expression: the indices of A, of B and of C, one letter for each axis, e.g. "aebf,dfce->abcd"; upper case differs
 * from lower case, spaces have no meaning, at most 12 indices. Each index is in two of the tensors or in all three. a,
 * b, c: element [0,0,...] of 64-bit floats in the host's memory. May be null if the tensor has no elements. C must not
 * share memory with A and B. C is not read if beta is 0, so it may then have no meaning, and A and B are not read if
 * alpha is 0. layout_a, layout_b: must not be null. layout_c: null for C order. Its elements must not share memory.
 * threads: 1 to 4096; 0: as many as the process may use. The bits of C do not depend on it.
 *
 * Fails with TRIFUSE_BAD_USAGE and a sentence that names the index if expression and layouts do not fit together. */
void trifuse_contract(trifuse_status* status, const char* expression, double alpha, const double* a,
                      const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b, double beta,
                      double* c, const trifuse_layout* layout_c, int64_t threads);

/* Computes the same on GPUs, for tensors in the host's memory, and waits for the result. The tensors go to the GPUs in
 * slices, so they may be larger than the memory of a GPU. The GPUs share the slices. CPU cores pack the slices and add
 * beta C. Tensors need not be pinned.
 *
 * gpu_count: 0 to 4096; 0: all supported GPUs that CUDA sees. gpus: gpus[gpu_count], numbers of the GPUs as CUDA counts
 * them, no number twice; may be null if gpu_count is 0. memory: limit of the memory for tensors on each GPU, bytes; 0:
 * seven eighths of the memory that is free. All other parameters are those of trifuse_contract. GPUs of one model give
 * the same bits, however many there are, for the same limit and the same tuned plans (drivers/docs/contraction.md).
 *
 * Fails as trifuse_contract does; with TRIFUSE_BAD_USAGE also if there is no such GPU, if Trifuse was built without
 * CUDA, or if the limit of memory is too small; with TRIFUSE_BAD_SYSTEM if a GPU fails or has too little memory. Then
 * C has no meaning. */
void trifuse_contract_on_gpus(trifuse_status* status, const char* expression, double alpha, const double* a,
                              const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b,
                              double beta, double* c, const trifuse_layout* layout_c, int64_t gpu_count,
                              const int32_t* gpus, int64_t memory);

/* Computes the same on one GPU, for tensors in its memory. Puts the work on a stream and returns at once.
 *
 * a, b, c: element [0,0,...], in memory that the GPU can address. gpu: its number as CUDA counts them. stream: a
 * cudaStream_t of this GPU; null: CUDA's default stream. All other parameters are those of trifuse_contract.
 *
 * The first call with a contraction plans it. The plans of the last 16 different calls are kept, together with some
 * memory of the GPU for partial sums; trifuse_release_memory drops them. CUDA graphs cannot capture the call. The
 * current GPU of the thread is the same afterwards.
 *
 * Fails as trifuse_contract does; with TRIFUSE_BAD_USAGE also if there is no such GPU or if Trifuse was built without
 * CUDA; with TRIFUSE_BAD_SYSTEM if the GPU has failed or has too little memory. */
void trifuse_contract_in_gpu_memory(trifuse_status* status, const char* expression, double alpha, const double* a,
                                    const trifuse_layout* layout_a, const double* b, const trifuse_layout* layout_b,
                                    double beta, double* c, const trifuse_layout* layout_c, int32_t gpu, void* stream);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
