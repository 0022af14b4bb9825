#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// How the chunks of a dataset are stored.
struct Hdf5Chunks {
  std::vector<std::uint64_t> extent;  ///< of the dataset
  std::vector<std::uint64_t> shape;   ///< of a chunk
  std::uint64_t bytes = 0;            ///< of a chunk in memory
  std::uint64_t count = 1;            ///< as many chunks make the dataset
  /// Places of the filters in the pipeline.
  std::optional<unsigned> deflate, shuffle, fletcher32;

  bool filtered() const { return deflate || shuffle || fletcher32; }
  /// True if a chunk can take so many bytes in the file. `skipped` has a bit for each filter that was left out.
  bool allow(std::uint64_t stored, std::uint64_t skipped) const;
};

/// Deflate turns 1032 bytes into no less than one.
inline constexpr std::uint64_t most_compression = 1032;

/// Refuses a dataset unless the tree at this address, in which older formats keep the places of chunks without a
/// checksum, has each of its chunks in its place, once, and with a size that the library can read.
void check_chunk_tree(const Hdf5Structure& structure, const std::string& name, const Hdf5Chunks& chunks,
                      std::uint64_t address);

[[noreturn]] void refuse_missing_chunk(const Hdf5Structure& structure, const std::string& name);

}  // namespace trifuse
