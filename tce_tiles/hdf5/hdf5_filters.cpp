#include "tce_tiles/hdf5/hdf5_filters.hpp"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_checksums.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t checksum_bytes = 4;

/// Decompresses `stream`. True if the result has exactly as many bytes as `out`.
bool inflate(const std::string& stream, std::string& out) {
  uLongf size = out.size();
  return ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(stream.data()),
                      stream.size()) == Z_OK &&
         size == out.size();
}

/// Undoes the filter, which wrote the first bytes of all elements, then the second bytes, and so on.
std::string unshuffle(std::string bytes, std::uint64_t element_bytes) {
  const std::size_t elements = bytes.size() / element_bytes;
  if (elements == 0) return bytes;
  std::string out = bytes;
  const char* from = bytes.data();
  for (std::size_t k = 0; k < element_bytes; ++k) {
    for (std::size_t n = 0; n < elements; ++n) out[n * element_bytes + k] = *from++;
  }
  return out;
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
    if (filter.kind == Kind::deflate) {
      std::string unpacked(size, '\0');
      if (!inflate(bytes, unpacked)) return "a compressed chunk is damaged or does not unpack to its size";
      bytes = std::move(unpacked);
    } else if (filter.kind == Kind::shuffle) {
      bytes = unshuffle(std::move(bytes), filter.element_bytes);
    } else if (!take_checksum(bytes)) {
      return "a chunk does not agree with its checksum";
    }
  }
  if (bytes.size() != out.size()) return "a chunk does not unpack to its size";
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return nullptr;
}

}
