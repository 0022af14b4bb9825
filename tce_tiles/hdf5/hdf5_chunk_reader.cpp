#include "tce_tiles/hdf5/hdf5_chunk_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_filters.hpp"

namespace trifuse {
namespace {

/// The part of a box that lies in one chunk, along one axis.
struct Overlap {
  std::int64_t begin, end;  ///< indices in the dataset
};

/// Copies the part of a box that lies in a chunk to `out`, row by row. `chunk_begin`: indices of the first element of
/// the chunk in the dataset. `bytes`: the bytes of the chunk. `part`: the part, by axis. `offset`, `count`: the box.
void copy_overlap(const Hdf5Description& description, const Hdf5Chunks& chunks,
                  std::span<const std::int64_t> chunk_begin, const char* bytes, std::span<const Overlap> part,
                  std::span<const std::int64_t> offset, std::span<const std::int64_t> count, std::span<double> out) {
  const std::size_t rank = part.size();
  std::vector<std::int64_t> at(rank);
  for (std::size_t k = 0; k < rank; ++k) at[k] = part[k].begin;
  const std::int64_t row = rank == 0 ? 1 : part[rank - 1].end - part[rank - 1].begin;
  while (true) {
    std::int64_t from = 0, to = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      from = from * static_cast<std::int64_t>(chunks.shape[k]) + at[k] - chunk_begin[k];
      to = to * count[k] + at[k] - offset[k];
    }
    convert_numbers(description.number, bytes + static_cast<std::uint64_t>(from) * description.number.bytes,
                    out.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(row)));
    std::size_t k = rank;
    for (k = rank < 2 ? 0 : rank - 1; k > 0; --k) {
      if (++at[k - 1] < part[k - 1].end) break;
      at[k - 1] = part[k - 1].begin;
    }
    if (k == 0) return;
  }
}

}

void Hdf5ChunkReader::read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                           std::span<double> out) {
  const auto& chunks = std::get<Hdf5Chunks>(description_->storage);
  const std::size_t rank = chunks.shape.size();
  std::vector<std::int64_t> at(rank), begin(rank);
  std::vector<Overlap> part(rank);
  const auto shape = [&](std::size_t k) { return static_cast<std::int64_t>(chunks.shape[k]); };
  for (std::size_t k = 0; k < rank; ++k) at[k] = offset[k] / shape(k);
  while (true) {
    std::uint64_t n = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      n = n * ((chunks.extent[k] + chunks.shape[k] - 1) / chunks.shape[k]) + static_cast<std::uint64_t>(at[k]);
      begin[k] = at[k] * shape(k);
      part[k] = {std::max(offset[k], begin[k]), std::min(offset[k] + count[k], begin[k] + shape(k))};
    }
    const BufferCache::Use bytes = chunk(n);
    copy_overlap(*description_, chunks, begin, reinterpret_cast<const char*>(bytes.data()), part, offset, count, out);
    std::size_t k = rank;
    for (; k > 0; --k) {
      if (++at[k - 1] * shape(k - 1) < offset[k - 1] + count[k - 1]) break;
      at[k - 1] = offset[k - 1] / shape(k - 1);
    }
    if (k == 0) return;
  }
}

BufferCache::Use Hdf5ChunkReader::chunk(std::uint64_t n) {
  const auto& chunks = std::get<Hdf5Chunks>(description_->storage);
  const auto doubles = static_cast<std::int64_t>((chunks.bytes + sizeof(double) - 1) / sizeof(double));
  return chunks_.get(static_cast<std::int64_t>(n), doubles, [&](std::span<double> values) {
    const std::span<char> bytes(reinterpret_cast<char*>(values.data()), chunks.bytes);
    const Hdf5Chunk& chunk = chunks.by_number[n];
    const bool filtered = !chunks.filters.empty();
    std::string stored(filtered ? chunk.stored : 0, '\0');
    const char* why = file_->read_into(chunk.address, filtered ? std::span<char>(stored) : bytes);
    if (why == nullptr && filtered) why = unpack_chunk(chunks, chunk, std::move(stored), bytes);
    if (why == nullptr) return;
    throw InputError(fmt::format("{}: reading dataset '{}' failed ({}); write or copy the file again.",
                                 file_->file().path(), name_, why));
  });
}

}
