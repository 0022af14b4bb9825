#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trifuse {

/// One of NWChem's tensors, wherever it is kept: a vector of doubles, the blocks one after another.
class NwchemVector {
 public:
  virtual ~NwchemVector() = default;

  virtual std::int64_t doubles() const = 0;
  /// For messages: the file, or which of the calling program's vectors.
  virtual const std::string& name() const = 0;
  /// Reads `values.size()` doubles from `offset` on. Throws InputError where there are not so many.
  virtual void read(std::int64_t offset, std::span<double> values) const = 0;

  /// As `read`, but throws InputError naming the vector and `what` if a value is not finite.
  template <typename Describe>
  void read_finite(std::int64_t offset, std::span<double> values, Describe what) const {
    read(offset, values);
    if (!all_finite(values)) refuse_not_finite(offset, values, what());
  }

 private:
  static bool all_finite(std::span<const double> values);
  [[noreturn]] void refuse_not_finite(std::int64_t offset, std::span<const double> values,
                                      const std::string& what) const;
  /// A sentence about `value`, which is not finite and stands in `what` as double `position` of the vector, from 0.
  virtual std::string not_finite(std::int64_t position, double value, const std::string& what) const = 0;
};

}  // namespace trifuse
