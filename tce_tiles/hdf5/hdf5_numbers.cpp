#include "tce_tiles/hdf5/hdf5_numbers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace trifuse {
namespace {

/// Converts numbers of one type. `swap`: true if their byte order differs from that of this machine.
template <typename Value>
void convert(const char* from, bool swap, std::span<double> out) {
  for (double& each : out) {
    std::array<char, sizeof(Value)> bytes{};
    std::memcpy(bytes.data(), from, sizeof(Value));
    if (swap) std::reverse(bytes.begin(), bytes.end());
    each = static_cast<double>(std::bit_cast<Value>(bytes));
    from += sizeof(Value);
  }
}

/// Converts integers of `bytes` bytes.
template <typename One, typename Two, typename Four, typename Eight>
void convert_integers(std::uint64_t bytes, const char* from, bool swap, std::span<double> out) {
  switch (bytes) {
    case 1:
      return convert<One>(from, swap, out);
    case 2:
      return convert<Two>(from, swap, out);
    case 4:
      return convert<Four>(from, swap, out);
    default:
      return convert<Eight>(from, swap, out);
  }
}

}

bool Hdf5Number::is_native_double() const {
  return kind == Kind::real && bytes == sizeof(double) && big_endian == (std::endian::native == std::endian::big);
}

void convert_numbers(const Hdf5Number& number, const char* from, std::span<double> out) {
  const bool swap = number.big_endian != (std::endian::native == std::endian::big);
  switch (number.kind) {
    case Hdf5Number::Kind::integer:
      return convert_integers<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(number.bytes, from, swap, out);
    case Hdf5Number::Kind::natural:
      return convert_integers<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(number.bytes, from, swap, out);
    default:
      if (number.is_native_double()) {
        std::memcpy(out.data(), from, out.size_bytes());
      } else if (number.bytes == sizeof(float)) {
        convert<float>(from, swap, out);
      } else {
        convert<double>(from, swap, out);
      }
  }
}

}
