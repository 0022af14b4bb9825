#pragma once

#include <cstdint>
#include <string>

#pragma GCC visibility push(default)

/// Matrix products by the BLAS library, and its threads and kernels. Arrays are in C order, last index fastest.
namespace trifuse {

/// Computes c[n,m] = sum_x a[m,x] b[n,x]. Overwrites `c`.
///
/// `m`, `n`, `k`: extents of the indices m, n and x. `lda`, `ldb`: doubles from one row of `a` and of `b` to the next,
/// at least `k`. Rows of `c` are `m` doubles apart. Throws SystemError if a number exceeds the integers of the BLAS
/// library.
void multiply_transposed(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, std::int64_t lda,
                         const double* b, std::int64_t ldb, double* c);

/// Computes c[m,n] += alpha * sum_x A[m,x] B[x,n]. Does nothing if an extent is 0.
///
/// `a` holds A[m,x], or its transpose [x,m] with `transpose_a`. `b` holds B[x,n], or its transpose [n,x] with
/// `transpose_b`. `m`, `n`, `k`: extents of the indices m, n and x. `lda`, `ldb`, `ldc`: doubles from one row in memory
/// to the next. Throws SystemError if a number exceeds the integers of the BLAS library.
void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc);

/// The same for arrays without gaps: `lda`, `ldb` and `ldc` are the lengths of the rows.
void multiply_add(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
                  const double* a, const double* b, double* c);

/// c[m,n] = alpha * sum_x A[m,x] B[x,n] + beta * c[m,n], with the parameters of multiply_add(). Does not read `c` if
/// `beta` is 0. All extents must be at least 1.
void multiply(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
              const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c,
              std::int64_t ldc);

/// Makes the BLAS library run each call on the calling thread only, because many threads of Trifuse call BLAS at once.
/// Throws SystemError if the memory does not suffice for one matrix product.
void use_single_threaded_blas();

/// Returns the number of threads, 1 to `wanted`, for which the memory suffices. Each thread needs `bytes` bytes of its
/// own and the buffer that OpenBLAS allocates for each thread that multiplies. If the address space is limited, this
/// function makes OpenBLAS allocate the buffers. If other data took this memory first, OpenBLAS would later wait for it
/// for ever. Throws SystemError if the memory does not suffice for one thread.
int threads_with_blas_memory(int wanted, std::int64_t bytes);

/// Sets the number of threads that the BLAS library uses in one call. Benchmarks need more than one.
void set_blas_threads(int threads);

/// Returns the name of the BLAS library and, if the library tells, of its kernels, e.g. "OpenBLAS 0.3.21 (Haswell
/// kernels)".
std::string blas_name();

/// Returns the largest product m n k that DGEMM of this library multiplies without copying its operands first, as far
/// as it is known; 0 for a library that always copies them.
double small_dgemm_products();

/// Returns the number of threads that OpenBLAS uses in one call; 0 if another library is in use.
int openblas_threads();

/// Returns the value that OPENBLAS_CORETYPE should have if OpenBLAS does not know this processor and therefore uses
/// kernels that leave most of the processor idle. Returns an empty text in all other cases, also if OPENBLAS_CORETYPE
/// is set.
std::string better_openblas_kernels();

}

#pragma GCC visibility pop
