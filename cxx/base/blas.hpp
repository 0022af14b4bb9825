#pragma once

#include <cstdint>
#include <string>

namespace trifuse {

/// C[m, n] = sum_x A[x, m] B[x, n]; all column-major, first index fastest, leading dimensions lda, ldb, m.
void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                         const double* b, std::int64_t ldb, double* c);

/// C[m, n] += alpha * sum_x A[m, x] B[x, n]; all row-major (C order), rows of A, B and C being lda, ldb and ldc apart.
/// With `transpose_a` the memory at `a` holds A^T[x, m], with `transpose_b` that at `b` holds B^T[n, x].
void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc);

/// Asks the BLAS library in use to run each call on the calling thread; Trifuse calls it from many threads at once.
void use_single_threaded_blas();

/// How many of `wanted` threads there is memory for, each with `bytes` of its own beside what the library takes for
/// each thread that multiplies. SystemError where there is none for one.
int threads_with_blas_memory(int wanted, std::int64_t bytes);

/// Lets the BLAS library use this many threads in one call (for benchmarks).
void set_blas_threads(int threads);

/// Name and, where it tells, kernel of the BLAS library, e.g. "OpenBLAS 0.3.21 (Haswell kernels)".
std::string blas_name();

/// Threads that OpenBLAS has for one call; 0 where another library is in use.
int openblas_threads();

/// What OPENBLAS_CORETYPE should be where OpenBLAS does not know this processor and has taken kernels that leave most
/// of it unused; empty elsewhere, also where that is set.
std::string better_openblas_kernels();

}  // namespace trifuse
