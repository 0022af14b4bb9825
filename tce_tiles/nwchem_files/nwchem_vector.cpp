#include "tce_tiles/nwchem_files/nwchem_vector.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

bool NwchemVector::all_finite(std::span<const double> values) {
  // Infinities and NaN have all bits of the exponent set. Adding one to such an exponent carries into the sign bit.
  // This test has no branches and does not depend on the compiler's floating-point options.
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
  constexpr std::uint64_t one = 0x0010'0000'0000'0000;
  std::uint64_t carry = 0;
  for (const double x : values) carry |= (std::bit_cast<std::uint64_t>(x) & exponent) + one;
  return carry >> 63 == 0;
}

void NwchemVector::refuse_not_finite(std::int64_t offset, std::span<const double> values,
                                     const std::string& what) const {
  const auto bad = std::find_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
  throw InputError(not_finite(offset + (bad - values.begin()), *bad, what));
}

}
