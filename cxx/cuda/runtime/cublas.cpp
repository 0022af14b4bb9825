#include "cxx/cuda/runtime/cublas.hpp"

#include <dlfcn.h>

namespace trifuse::gpu {

namespace {

void* open_library() {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
                           "/usr/local/cuda/lib64/libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}

Cublas::Cublas() {
  void* const library = open_library();
  if (library == nullptr) return;
  const auto create = reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"));
  const auto destroy = reinterpret_cast<int (*)(void*)>(dlsym(library, "cublasDestroy_v2"));
  dgemm_ = reinterpret_cast<Dgemm>(dlsym(library, "cublasDgemm_v2"));
  batched_dgemm_ = reinterpret_cast<BatchedDgemm>(dlsym(library, "cublasDgemmStridedBatched"));
  if (create == nullptr || destroy == nullptr || dgemm_ == nullptr || batched_dgemm_ == nullptr) return;
  void* handle = nullptr;
  if (create(&handle) == 0) handle_ = {handle, destroy};
}

bool Cublas::multiply(int n, int count, const double* a, std::int64_t stride_a, const double* b, double* c) const {
  constexpr int as_stored = 0;
  const double one = 1.0, zero = 0.0;
  const long long stride = static_cast<long long>(n) * n;
  // Matrices of cuBLAS have Fortran order, so it computes the transposed product: B is its first operand.
  if (count == 1) return dgemm_(handle_.get(), as_stored, as_stored, n, n, n, &one, b, n, a, n, &zero, c, n) == 0;
  return batched_dgemm_(handle_.get(), as_stored, as_stored, n, n, n, &one, b, n, stride, a, n, stride_a, &zero, c, n,
                        stride, count) == 0;
}

}
