#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace trifuse {

/// Uninitialised array of doubles that begins on a cache-line boundary. With this alignment vectorised kernels and BLAS
/// take the same code path in every run. Reproducible bits depend on it.
class Buffer {
 public:
  static constexpr std::size_t alignment = 64;  ///< bytes

  Buffer() = default;
  /// Allocates `count` doubles. Throws std::bad_alloc.
  explicit Buffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    const std::size_t bytes = (count * sizeof(double) + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<double*>(std::aligned_alloc(alignment, bytes)));
    if (!data_) throw std::bad_alloc();
  }

  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }
  std::size_t size() const { return count_; }
  std::span<double> span() { return {data(), count_}; }
  std::span<const double> span() const { return {data(), count_}; }

  /// Makes the array at least `count` doubles long. Its contents are lost if it grows.
  void reserve(std::size_t count) {
    if (count > count_) *this = Buffer(count);
  }

 private:
  struct Free {
    void operator()(double* p) const { std::free(p); }
  };
  std::unique_ptr<double, Free> data_;
  std::size_t count_ = 0;
};

}  // namespace trifuse
