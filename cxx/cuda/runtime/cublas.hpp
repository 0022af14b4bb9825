#pragma once

#include <cstdint>
#include <memory>

/// Measurements compare with cuBLAS. It is loaded only for them: it is half a gigabyte, and nothing else needs it.
namespace trifuse::gpu {

class Cublas {
 public:
  /// Loads the library and prepares it for the current device. If this fails, loaded() is false.
  Cublas();
  bool loaded() const { return handle_ != nullptr; }

  /// Starts `count` products C = A B of n x n matrices, in C order without gaps, on the default stream. `stride_a`:
  /// elements from one A to the next; 0: all products have the same A. B and C follow each other without gaps. Returns
  /// false if cuBLAS refuses. Call it only if loaded().
  bool multiply(int n, int count, const double* a, std::int64_t stride_a, const double* b, double* c) const;

 private:
  using Dgemm = int (*)(void*, int, int, int, int, int, const double*, const double*, int, const double*, int,
                        const double*, double*, int);
  using BatchedDgemm = int (*)(void*, int, int, int, int, int, const double*, const double*, int, long long,
                               const double*, int, long long, const double*, double*, int, long long, int);
  Dgemm dgemm_ = nullptr;
  BatchedDgemm batched_dgemm_ = nullptr;
  std::unique_ptr<void, int (*)(void*)> handle_{nullptr, nullptr};
};

}
