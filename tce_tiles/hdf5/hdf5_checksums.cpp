#include "tce_tiles/hdf5/hdf5_checksums.hpp"

#include <algorithm>
#include <bit>

namespace trifuse {

std::uint32_t hdf5_lookup3(std::string_view bytes) {
  std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(bytes.size()), b = a, c = a;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4 && at + k < bytes.size(); ++k) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + k])) << (8 * k);
    }
    return value;
  };
  std::size_t at = 0;
  for (; bytes.size() - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  if (at == bytes.size()) return c;
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

std::uint32_t hdf5_fletcher32(std::string_view bytes) {
  constexpr std::size_t words_without_overflow = 360;
  std::uint32_t first = 0, second = 0;
  const auto fold = [&] {
    first = (first & 0xffffU) + (first >> 16);
    second = (second & 0xffffU) + (second >> 16);
  };
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])); };
  std::size_t at = 0;
  const std::size_t even = bytes.size() / 2 * 2;
  while (at < even) {
    for (const std::size_t end = std::min(even, at + 2 * words_without_overflow); at < end; at += 2) {
      first += byte(at) << 8 | byte(at + 1);
      second += first;
    }
    fold();
  }
  if (even < bytes.size()) {
    first += byte(even) << 8;
    second += first;
    fold();
  }
  fold();
  return second << 16 | first;
}

}
