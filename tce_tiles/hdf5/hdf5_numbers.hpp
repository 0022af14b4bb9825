#pragma once

#include <cstdint>
#include <span>

namespace trifuse {

/// The format of the numbers of a dataset in the file.
struct Hdf5Number {
  enum class Kind : std::uint8_t { real, integer, natural };  ///< IEEE float; two's complement; unsigned
  Kind kind = Kind::real;
  std::uint64_t bytes = 8;  ///< size of a number: 4 or 8 for `real`, else 1, 2, 4 or 8
  bool big_endian = false;

  /// Returns true if this is the format of a double in memory.
  bool is_native_double() const;
};

/// Converts `out.size()` numbers in the bytes at `from` to doubles.
void convert_numbers(const Hdf5Number& number, const char* from, std::span<double> out);

}
