#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)

namespace trifuse {

/// How the operands of the matrix products are stored and summed.
enum class Precision : std::uint8_t {
  fp64,  ///< 64-bit numbers everywhere
  /// Each operand is scaled by a power of two and split into two 16-bit numbers, hi + lo. The products hi hi, hi lo and
  /// lo hi are summed in 32-bit numbers. Energies are 64-bit numbers. A sample of tasks is also computed in `fp64`. It
  /// gives a correction of the energies and their error bar.
  mixed,
};

/// Names for users, in the order of `Precision`.
inline constexpr std::array<const char*, 2> precision_names = {"double", "mixed"};

/// Returns "double" or "mixed".
inline std::string to_string(Precision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}

}

#pragma GCC visibility pop
