#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trifuse {

/// One of NWChem's tensors, in files or in memory: a vector of doubles that holds the blocks one after another.
class NwchemVector {
 public:
  virtual ~NwchemVector() = default;

  /// Returns the number of doubles in the vector.
  virtual std::int64_t doubles() const = 0;
  /// Returns the name for messages: the file, or the vector of the calling program.
  virtual const std::string& name() const = 0;
  /// Reads `values.size()` doubles from `offset` on, counted in doubles from 0. Throws InputError if the vector is
  /// shorter.
  virtual void read(std::int64_t offset, std::span<double> values) const = 0;

  /// Reads as `read` does. Throws InputError if a value is not finite; the sentence names the vector and the text that
  /// `what` returns.
  template <typename Describe>
  void read_finite(std::int64_t offset, std::span<double> values, Describe what) const {
    read(offset, values);
    if (!all_finite(values)) refuse_not_finite(offset, values, what());
  }

 private:
  static bool all_finite(std::span<const double> values);
  [[noreturn]] void refuse_not_finite(std::int64_t offset, std::span<const double> values,
                                      const std::string& what) const;
  /// Returns a sentence about `value`, which is not finite. It is double number `position` of the vector, from 0, and
  /// part of `what`.
  virtual std::string not_finite(std::int64_t position, double value, const std::string& what) const = 0;
};

}
