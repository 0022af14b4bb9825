#pragma once

#include <cstddef>
#include <memory>
#include <span>

#pragma GCC visibility push(default)

namespace trifuse {

/// Uninitialised array of doubles that begins on a cache-line boundary. Reproducible bits depend on this alignment: it
/// makes vectorised kernels and BLAS take the same code path in every run. A large array is in large pages if the
/// system supports them.
class Buffer {
 public:
  static constexpr std::size_t alignment = 64;  ///< bytes

  Buffer() = default;
  /// Allocates `count` doubles. Throws std::bad_alloc.
  explicit Buffer(std::size_t count);

  /// Allocates `count` zeros. For a large array the system provides pages of zeros when they are first used, so this
  /// function takes no time. Throws std::bad_alloc.
  static Buffer zeros(std::size_t count);

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
    void* allocated;  ///< allocated memory; the array begins in it, at its begin or shortly behind
    void operator()(double*) const;
  };
  std::unique_ptr<double, Free> data_{nullptr, Free{nullptr}};
  std::size_t count_ = 0;
};

}

#pragma GCC visibility pop
