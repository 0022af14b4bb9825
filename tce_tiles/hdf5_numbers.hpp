#pragma once

#include <cstdint>
#include <span>

namespace trifuse {

/// How the numbers of a dataset are written.
struct Hdf5Number {
  enum class Kind : std::uint8_t { real, integer, natural };  ///< IEEE; two's complement; unsigned
  Kind kind = Kind::real;
  std::uint64_t bytes = 8;  ///< 4 or 8 of a real number, else 1, 2, 4 or 8
  bool big_endian = false;

  /// True if they stand in the file as doubles do in memory.
  bool is_native_double() const;
};

/// Makes doubles of the numbers that begin at `from`.
void convert_numbers(const Hdf5Number& number, const char* from, std::span<double> out);

}  // namespace trifuse
