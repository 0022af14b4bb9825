#include "tce_tiles/hdf5/hdf5_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

bool Hdf5Chunks::has(Hdf5Filter::Kind kind) const {
  return std::any_of(filters.begin(), filters.end(), [&](const Hdf5Filter& each) { return each.kind == kind; });
}

Hdf5ChunkList::Hdf5ChunkList(const Hdf5Structure& structure, const std::string& name, Hdf5Chunks& chunks)
    : structure_(structure),
      name_(name),
      what_(fmt::format("the index of the chunks of dataset '{}'", name)),
      chunks_(chunks),
      next_(chunks.shape.size(), 0) {}

bool Hdf5ChunkList::is_partial(std::uint64_t n) const {
  for (std::size_t k = chunks_.shape.size(); k-- > 0;) {
    const std::uint64_t along = (chunks_.extent[k] + chunks_.shape[k] - 1) / chunks_.shape[k];
    if ((n % along + 1) * chunks_.shape[k] > chunks_.extent[k]) return true;
    n /= along;
  }
  return false;
}

void Hdf5ChunkList::check(std::uint64_t n, Hdf5Chunk& chunk) const {
  const auto wrong_size = [&] {
    structure_.file().damaged(fmt::format("a chunk of dataset '{}' has a wrong size or position", name_));
  };
  if (structure_.undefined(chunk.address)) refuse_missing();
  if (!structure_.contains(chunk.address, chunk.stored)) wrong_size();
  if (chunks_.partial_unfiltered && is_partial(n)) {
    if (chunk.stored != chunks_.bytes) wrong_size();
    chunk.skipped = (std::uint64_t{1} << chunks_.filters.size()) - 1;
    return;
  }
  std::uint64_t compression = 0;
  for (std::size_t k = 0; k < chunks_.filters.size(); ++k) {
    if (chunks_.filters[k].kind == Hdf5Filter::Kind::deflate) compression = std::uint64_t{1} << k;
  }
  // A writer omits a compression that saves nothing, but never another filter.
  if ((chunk.skipped & ~compression) != 0) {
    throw InputError(
        fmt::format("{}: dataset '{}' has a chunk that was stored without some of its filters, or is damaged; write it "
                    "again with all of them.",
                    structure_.file().path(), name_));
  }
  const std::uint64_t checksum = chunks_.has(Hdf5Filter::Kind::fletcher32) ? 4 : 0;
  const bool deflated = compression != 0 && chunk.skipped == 0;
  const std::uint64_t most = deflated ? chunks_.bytes + chunks_.bytes / 512 + 64 : chunks_.bytes + checksum;
  const std::uint64_t least = deflated ? std::max(checksum + 1, chunks_.bytes / max_compression) : most;
  if (chunk.stored < least || chunk.stored > most) wrong_size();
}

void Hdf5ChunkList::set(std::uint64_t n, Hdf5Chunk chunk) {
  check(n, chunk);
  chunks_.by_number.resize(std::max<std::size_t>(chunks_.by_number.size(), n + 1));
  chunks_.by_number[n] = chunk;
  ++found_;
}

void Hdf5ChunkList::add(const std::vector<std::uint64_t>& position, Hdf5Chunk chunk) {
  if (position != next_ || found_ == chunks_.count) {
    // Chunks come in ascending order, so the writer has left out the expected chunk.
    if (position > next_ && found_ < chunks_.count) refuse_missing();
    structure_.file().damaged(what_);
  }
  set(found_, chunk);
  for (std::size_t k = next_.size(); k-- > 0;) {
    if (++next_[k] * chunks_.shape[k] < chunks_.extent[k]) break;
    next_[k] = 0;
  }
}

void Hdf5ChunkList::finish() {
  if (found_ < chunks_.count) refuse_missing();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  pieces.reserve(chunks_.by_number.size());
  for (const Hdf5Chunk& chunk : chunks_.by_number) pieces.emplace_back(chunk.address, chunk.stored);
  std::sort(pieces.begin(), pieces.end());
  for (std::size_t n = 1; n < pieces.size(); ++n) {
    if (pieces[n - 1].first + pieces[n - 1].second > pieces[n].first) structure_.file().damaged(what_);
  }
}

void Hdf5ChunkList::refuse_missing() const {
  throw InputError(fmt::format(
      "{}: dataset '{}' was written only in part: at least one of its chunks is missing; write the dump again.",
      structure_.file().path(), name_));
}

}
