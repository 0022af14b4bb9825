#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cxx/base/spares.hpp"
#include "cxx/base/zeroed_vector.hpp"

namespace trifuse {

/// An array to which tasks have added (SummedArray), after the last task. It lies in memory of the host, or still on
/// the device that computed it, and only the elements that are read leave the device. Any thread may call the
/// functions.
class CompleteSums {
 public:
  /// A box of elements, and the values to which they are added. Index d has extent[d] values, whose elements are
  /// step_in_sums[d] apart in the array; the values are step_in_values[d] apart.
  struct Piece {
    std::int64_t first_in_sums, first_in_values;
    std::array<std::int64_t, 4> extent, step_in_sums, step_in_values;
    double sign;
  };

  CompleteSums() = default;
  CompleteSums(const CompleteSums&) = delete;
  CompleteSums& operator=(const CompleteSums&) = delete;
  virtual ~CompleteSums() = default;

  /// Calls `use` with `size` values, in units of the sums. Each is the sum of the elements that the pieces add to it,
  /// in the order of the pieces, so its bits do not depend on where the array lies; without elements it is 0. Such a
  /// sum may be larger than any integer. The values are valid until `use` returns. Throws Error if the device has
  /// failed, and passes on exceptions of `use`.
  virtual void read(std::span<const Piece> pieces, std::size_t size,
                    const std::function<void(std::span<const double>)>& use) const = 0;
  /// Copies the elements from number `first` on, and replaces them. Ranks add up their sums with these functions. Throw
  /// Error if the device has failed. One thread at a time may use an array that is being replaced.
  virtual void get(std::size_t first, std::span<std::int64_t> elements) const = 0;
  virtual void set(std::size_t first, std::span<const std::int64_t> elements) = 0;
};

/// Sums in memory of the host.
class HostSums final : public CompleteSums {
 public:
  explicit HostSums(ZeroedVector<std::int64_t> sums) : sums_(std::move(sums)) {}
  void read(std::span<const Piece> pieces, std::size_t size,
            const std::function<void(std::span<const double>)>& use) const override;
  void get(std::size_t first, std::span<std::int64_t> elements) const override;
  void set(std::size_t first, std::span<const std::int64_t> elements) override;
  /// Returns the array, and leaves none.
  ZeroedVector<std::int64_t> take() { return std::move(sums_); }

 private:
  ZeroedVector<std::int64_t> sums_;
  mutable Spares<std::vector<double>> values_;  ///< used again: the system would have to provide new memory each time
};

}
