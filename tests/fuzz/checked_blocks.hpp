#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/hdf5/hdf5_checksums.hpp"

namespace trifuse::testing {

/// A block of an HDF5 file that contains its checksum.
struct CheckedBlock {
  std::size_t begin, bytes;  ///< the bytes that the checksum covers
  std::size_t sum_at;        ///< position of the checksum; if it lies inside the block, it counts as 0
};

/// The correct checksum for the contents of a block.
inline std::uint32_t block_sum(const std::string& content, const CheckedBlock& block) {
  std::string piece = content.substr(block.begin, block.bytes);
  if (block.sum_at < block.begin + block.bytes) piece.replace(block.sum_at - block.begin, 4, 4, '\0');
  return hdf5_lookup3(piece);
}

inline bool has_right_sum(const std::string& content, const CheckedBlock& block) {
  if (block.begin + block.bytes > content.size() || block.sum_at + 4 > content.size()) return false;
  std::uint32_t stored = 0;
  for (std::size_t k = 4; k-- > 0;) stored = stored << 8 | static_cast<unsigned char>(content[block.sum_at + k]);
  return stored == block_sum(content, block);
}

/// Writes the correct checksum, so that a checksum does not reveal the damage.
inline void renew_sum(std::string& content, const CheckedBlock& block) {
  const std::uint32_t sum = block_sum(content, block);
  for (std::size_t k = 0; k < 4; ++k) content[block.sum_at + k] = static_cast<char>(sum >> (8 * k) & 0xffU);
}

/// The blocks of metadata with checksums in an undamaged file. The oldest format has none. Finds the end of each block
/// by trial.
inline std::vector<CheckedBlock> checked_blocks(const std::string& content) {
  constexpr std::size_t max_bytes = 4096;
  static constexpr std::array<std::string_view, 13> signatures = {
      "\x89HDF", "OHDR", "OCHK", "FRHP", "FHIB", "BTHD", "BTLF", "BTIN", "FAHD", "FADB", "EAHD", "EAIB", "EADB"};
  std::vector<CheckedBlock> blocks;
  const auto add = [&](const CheckedBlock& block) {
    if (!has_right_sum(content, block)) return false;
    blocks.push_back(block);
    return true;
  };
  for (const std::string_view signature : signatures) {
    for (std::size_t at = 0; (at = content.find(signature, at)) != std::string::npos; ++at) {
      for (std::size_t bytes = 8; bytes <= max_bytes && !add({at, bytes, at + bytes}); ++bytes) {
      }
    }
  }
  // In a block of a heap, the checksum follows the offset of the block, a few bytes.
  for (std::size_t at = 0; (at = content.find("FHDB", at)) != std::string::npos; ++at) {
    bool found = false;
    for (std::size_t bytes = 256; bytes <= 65536 && !found; bytes *= 2) {
      for (std::size_t offset_bytes = 1; offset_bytes <= 8 && !found; ++offset_bytes) {
        found = add({at, bytes, at + 13 + offset_bytes});
      }
    }
  }
  return blocks;
}

}
