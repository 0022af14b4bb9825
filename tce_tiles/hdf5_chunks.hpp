#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// One step that the bytes of a chunk went through when they were written.
struct Hdf5Filter {
  enum class Kind : std::uint8_t { deflate, shuffle, fletcher32 };
  Kind kind;
  std::uint64_t element_bytes;  ///< of the elements whose bytes `shuffle` sorted
};

/// Where a chunk stands in the file.
struct Hdf5Chunk {
  std::uint64_t address = 0;
  std::uint64_t stored = 0;   ///< bytes in the file
  std::uint64_t skipped = 0;  ///< a bit for each filter that was left out
};

/// The chunks of a dataset.
struct Hdf5Chunks {
  std::vector<std::uint64_t> extent;  ///< of the dataset
  std::vector<std::uint64_t> most;    ///< extents that the dataset may grow to; `unlimited` is one of them
  std::vector<std::uint64_t> shape;   ///< of a chunk
  std::uint64_t bytes = 0;            ///< of a chunk in memory
  std::uint64_t count = 1;            ///< as many chunks make the dataset
  std::vector<Hdf5Filter> filters;    ///< in the order in which the writer applied them
  /// True if chunks that reach beyond the dataset are stored without filters.
  bool partial_unfiltered = false;
  std::vector<Hdf5Chunk> places;  ///< of all chunks, in C order

  bool has(Hdf5Filter::Kind kind) const;
};

/// The extent of an axis that a writer may prolong.
inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};
/// Deflate turns 1032 bytes into no less than one.
inline constexpr std::uint64_t most_compression = 1032;

/// Takes the places of the chunks of a dataset and checks each of them.
class Hdf5ChunkList {
 public:
  /// `name`: of the dataset. Both must outlive the list.
  Hdf5ChunkList(const Hdf5Structure& structure, const std::string& name, Hdf5Chunks& chunks);

  const std::string& what() const { return what_; }  ///< the index of the chunks in a sentence
  const Hdf5Chunks& chunks() const { return chunks_; }
  /// Chunk number `n` in C order. Throws InputError if the file does not hold it or if its size is wrong.
  void set(std::uint64_t n, Hdf5Chunk chunk);
  /// The chunk at a place in the grid of chunks. Indexes that say so must name them in C order: throws InputError if
  /// this is not the next one.
  void add(const std::vector<std::uint64_t>& place, Hdf5Chunk chunk);
  /// Call after the last chunk. Throws InputError if one is missing or if two of them share bytes.
  void finish();

 private:
  [[noreturn]] void refuse_missing() const;
  void check(std::uint64_t n, Hdf5Chunk& chunk) const;
  bool is_partial(std::uint64_t n) const;

  const Hdf5Structure& structure_;
  const std::string& name_;
  std::string what_;
  Hdf5Chunks& chunks_;
  std::vector<std::uint64_t> next_;  ///< the place of the chunk that `add` expects
  std::uint64_t found_ = 0;
};

/// Finds the chunks of a dataset in the tree at this address, in which older formats keep their places without a
/// checksum. `list` gets them.
void read_chunk_tree(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address);

/// What the newer formats say of the index of chunks in the layout of a dataset.
struct Hdf5ChunkIndex {
  enum Kind : std::uint64_t { single = 1, implicit = 2, fixed_array = 3, extensible_array = 4, tree = 5 };
  std::uint64_t kind;
  std::uint64_t address;
  Hdf5Chunk only;  ///< without its address, of a single chunk
};

/// Finds the chunks of a dataset in an index of the newer formats. `list` gets them.
void read_chunk_index(const Hdf5Structure& structure, Hdf5ChunkList& list, const Hdf5ChunkIndex& index);

}  // namespace trifuse
