#include "tce_tiles/hdf5/hdf5_filters.hpp"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_checksums.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t checksum_bytes = 4;
constexpr const char* not_its_size = "a chunk does not unpack to its size";

/// Decompresses `stream`. Returns true if the result has exactly as many bytes as `out`.
bool inflate(const std::string& stream, std::span<char> out) {
  uLongf size = out.size();
  return ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(stream.data()),
                      stream.size()) == Z_OK &&
         size == out.size();
}

/// Undoes the filter, which wrote the first bytes of all elements, then the second bytes, and so on. True if the result
/// has exactly as many bytes as `out`.
bool unshuffle(const std::string& bytes, std::uint64_t element_bytes, std::span<char> out) {
  if (bytes.size() != out.size()) return false;
  const std::size_t elements = bytes.size() / element_bytes;
  const char* from = bytes.data();
  for (std::size_t k = 0; elements > 0 && k < element_bytes; ++k) {
    for (std::size_t n = 0; n < elements; ++n) out[n * element_bytes + k] = *from++;
  }
  std::copy(from, bytes.data() + bytes.size(), out.data() + (from - bytes.data()));
  return true;
}

/// Removes the checksum at the end. Returns false if the checksum is wrong.
bool take_checksum(std::string& bytes) {
  if (bytes.size() < checksum_bytes) return false;
  std::uint32_t sum = 0;
  for (std::size_t k = 1; k <= checksum_bytes; ++k)
    sum = sum << 8 | static_cast<unsigned char>(bytes[bytes.size() - k]);
  bytes.resize(bytes.size() - checksum_bytes);
  return sum == hdf5_fletcher32(bytes);
}

}

const char* unpack_chunk(const Hdf5Chunks& chunks, const Hdf5Chunk& chunk, std::string bytes, std::span<char> out) {
  using Kind = Hdf5Filter::Kind;
  // Number of bytes before the compression.
  std::uint64_t size = chunks.bytes;
  for (std::size_t n = 0; n < chunks.filters.size() && chunks.filters[n].kind != Kind::deflate; ++n) {
    if (chunks.filters[n].kind == Kind::fletcher32) size += checksum_bytes;
  }
  for (std::size_t n = chunks.filters.size(); n-- > 0;) {
    const Hdf5Filter& filter = chunks.filters[n];
    if ((chunk.skipped >> n & 1U) != 0) continue;
    if (filter.kind == Kind::fletcher32) {
      if (!take_checksum(bytes)) return "a chunk does not agree with its checksum";
      continue;
    }
    const bool deflated = filter.kind == Kind::deflate;
    std::string unpacked(n == 0 ? 0 : deflated ? size : bytes.size(), '\0');
    const std::span<char> to = n == 0 ? out : std::span<char>(unpacked);
    if (deflated && !inflate(bytes, to)) return "a compressed chunk is damaged or does not unpack to its size";
    if (!deflated && !unshuffle(bytes, filter.element_bytes, to)) return not_its_size;
    if (n == 0) return nullptr;
    bytes = std::move(unpacked);
  }
  if (bytes.size() != out.size()) return not_its_size;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return nullptr;
}

}
