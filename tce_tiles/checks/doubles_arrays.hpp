#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/contraction/cpu_contraction.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"

/// Arrays and products of the CCSD equation of the double excitations.
namespace trifuse {

/// Approximate number of elements of arrays with three virtual orbitals that are in memory at a time.
inline constexpr std::int64_t three_virtuals_at_a_time = std::int64_t{1} << 24;

/// Elements in C order.
struct DoublesView {
  std::vector<std::int64_t> shape;
  double* data;
};

/// An array in memory.
class DoublesArray {
 public:
  /// Makes an array of zeros.
  explicit DoublesArray(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {
    std::size_t size = 1;
    for (const std::int64_t extent : shape_) size *= at(extent);
    values_ = Buffer::zeros(size);
  }
  DoublesArray(const DoublesArray& other) : DoublesArray(other.shape_) {
    std::ranges::copy(other.values_.span(), values_.data());
  }
  DoublesArray(DoublesArray&&) = default;
  DoublesArray& operator=(const DoublesArray&) = delete;
  DoublesArray& operator=(DoublesArray&&) = default;
  ~DoublesArray() = default;

  double* data() { return values_.data(); }
  std::span<double> values() { return values_.span(); }
  DoublesView all() { return {shape_, data()}; }
  /// Returns `count` values of the first index from `first` on.
  DoublesView rows(std::int64_t first, std::int64_t count) {
    DoublesView view = all();
    view.data += at(first) * (values_.size() / at(shape_[0]));
    view.shape[0] = count;
    return view;
  }

 private:
  std::vector<std::int64_t> shape_;
  Buffer values_;
};

/// What adds products of arrays.
struct DoublesProducts {
  int threads;                    ///< at least 1
  const std::atomic<bool>* stop;  ///< true ends the work with Interrupted; may be null

  /// c += alpha a b. `expression`: as of contraction::describe().
  void add(std::string_view expression, double alpha, const DoublesView& a, const DoublesView& b,
           const DoublesView& c) const {
    stop_reading(stop);
    for (const DoublesView* const x : {&a, &b, &c}) {
      if (std::ranges::find(x->shape, 0) != x->shape.end()) return;
    }
    const contraction::Contraction sum = contraction::describe(expression, {a.shape, {}}, {b.shape, {}});
    contraction::CpuContraction(sum, threads).run(alpha, a.data, b.data, 1.0, c.data);
  }
};

}
