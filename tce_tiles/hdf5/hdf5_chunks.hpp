#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// A filter that changed the bytes of a chunk when the chunk was written.
struct Hdf5Filter {
  enum class Kind : std::uint8_t { deflate, shuffle, fletcher32 };
  Kind kind;
  std::uint64_t element_bytes;  ///< `shuffle`: size of an element, bytes
};

/// The position of a chunk in the file.
struct Hdf5Chunk {
  std::uint64_t address = 0;  ///< address of its first byte, as HDF5 counts
  std::uint64_t stored = 0;   ///< its size in the file, bytes
  std::uint64_t skipped = 0;  ///< bit k is set if filter k was not applied
};

/// The chunks of a dataset.
struct Hdf5Chunks {
  std::vector<std::uint64_t> extent;  ///< extents of the dataset
  std::vector<std::uint64_t> most;    ///< largest extents of the dataset; `unlimited` for an axis without a limit
  std::vector<std::uint64_t> shape;   ///< extents of a chunk
  std::uint64_t bytes = 0;            ///< size of a chunk in memory, bytes
  std::uint64_t count = 1;            ///< number of chunks of the dataset
  std::vector<Hdf5Filter> filters;    ///< in the order in which the writer applied them
  /// True if chunks that reach beyond the end of the dataset are stored without filters.
  bool partial_unfiltered = false;
  std::vector<Hdf5Chunk> by_number;  ///< by number of the chunk, in C order of the grid of chunks

  /// Returns true if the chunks have a filter of this kind.
  bool has(Hdf5Filter::Kind kind) const;
};

/// The largest extent of an axis without a limit.
inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};
/// Deflate compresses bytes by a factor of at most 1032.
inline constexpr std::uint64_t max_compression = 1032;

/// Collects the positions of the chunks of a dataset in `chunks.by_number` and checks each chunk.
class Hdf5ChunkList {
 public:
  /// `name`: name of the dataset, for error messages. All three arguments must outlive the list.
  Hdf5ChunkList(const Hdf5Structure& structure, const std::string& name, Hdf5Chunks& chunks);

  const std::string& what() const { return what_; }  ///< name of the chunk index in error messages
  const Hdf5Chunks& chunks() const { return chunks_; }
  /// Sets chunk number `n` in C order. Throws InputError if the chunk was never written, does not lie in the file, has
  /// a wrong size, or lacks a filter other than the compression.
  void set(std::uint64_t n, Hdf5Chunk chunk);
  /// Adds a chunk. `position`: its indices in the grid of chunks. For chunk indexes that store positions. The calls
  /// must come in C order of the positions. Throws InputError as `set` does, and if the chunk is not the next one.
  void add(const std::vector<std::uint64_t>& position, Hdf5Chunk chunk);
  /// Call this after the last chunk. Throws InputError if a chunk is missing or if two chunks share bytes of the file.
  void finish();

 private:
  [[noreturn]] void refuse_missing() const;
  void check(std::uint64_t n, Hdf5Chunk& chunk) const;
  bool is_partial(std::uint64_t n) const;

  const Hdf5Structure& structure_;
  const std::string& name_;
  std::string what_;
  Hdf5Chunks& chunks_;
  std::vector<std::uint64_t> next_;  ///< indices of the chunk that `add` expects
  std::uint64_t found_ = 0;
};

/// Adds all chunks of a dataset to `list`. `address`: the B-tree (version 1) of chunks, as older formats write it. This
/// tree has no checksums. Throws InputError if the tree is damaged.
void read_chunk_tree(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address);

/// The chunk index of a dataset, as its layout message describes it in the newer formats.
struct Hdf5ChunkIndex {
  enum Kind : std::uint64_t { single = 1, implicit = 2, fixed_array = 3, extensible_array = 4, tree = 5 };
  std::uint64_t kind;  ///< one of `Kind`
  std::uint64_t address;
  Hdf5Chunk only;  ///< `single`: the chunk, without its address
};

/// Adds all chunks of a dataset to `list`, from an index of the newer formats. Throws InputError if the index is
/// damaged.
void read_chunk_index(const Hdf5Structure& structure, Hdf5ChunkList& list, const Hdf5ChunkIndex& index);

}
