#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#pragma GCC visibility push(default)

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
    void* const begin = std::aligned_alloc(alignment, bytes);
    if (begin == nullptr) throw std::bad_alloc();
    data_ = {static_cast<double*>(begin), Free{begin}};
  }

  /// Allocates `count` zeros. For a large array the system provides pages of zeros when they are first used, so this
  /// takes no time. Throws std::bad_alloc.
  static Buffer zeros(std::size_t count) {
    Buffer buffer;
    if (count == 0) return buffer;
    void* const begin = std::calloc(count + alignment / sizeof(double), sizeof(double));
    if (begin == nullptr) throw std::bad_alloc();
    void* aligned = begin;
    std::size_t room = (count + alignment / sizeof(double)) * sizeof(double);
    std::align(alignment, count * sizeof(double), aligned, room);
    buffer.data_ = {static_cast<double*>(aligned), Free{begin}};
    buffer.count_ = count;
    return buffer;
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
    void* allocated;  ///< begins at the array, or shortly before it
    void operator()(double*) const { std::free(allocated); }
  };
  std::unique_ptr<double, Free> data_{nullptr, Free{nullptr}};
  std::size_t count_ = 0;
};

}  // namespace trifuse

#pragma GCC visibility pop
