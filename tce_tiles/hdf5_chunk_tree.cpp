#include "tce_tiles/hdf5_chunk_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t most_levels = 16;

/// Place of a chunk in the grid of chunks, and a last number that is 0 for chunks.
using Place = std::vector<std::uint64_t>;

class ChunkTree {
 public:
  ChunkTree(const Hdf5Structure& structure, const std::string& name, const Hdf5Chunks& chunks)
      : structure_(structure),
        name_(name),
        what_(fmt::format("the index of the chunks of dataset '{}'", name)),
        chunks_(chunks),
        next_(chunks.shape.size() + 1, 0) {}

  void run(std::uint64_t address) {
    check_node(address, most_levels + 1, true, nullptr, nullptr);
    if (found_ < chunks_.count) refuse_missing_chunk(structure_, name_);
    std::sort(places_.begin(), places_.end());
    for (std::size_t n = 1; n < places_.size(); ++n) {
      if (places_[n - 1].first + places_[n - 1].second > places_[n].first) structure_.file().damaged(what_);
    }
  }

 private:
  struct Key {
    std::uint64_t stored, skipped;
    Place place;
    bool on_grid;
  };

  Key read_key(Hdf5Cursor& in) const {
    Key key{in.number(4), in.number(4), {}, true};
    for (const std::uint64_t extent : chunks_.shape) {
      const std::uint64_t offset = in.number(8);
      key.place.push_back(offset / extent);
      key.on_grid = key.on_grid && offset % extent == 0;
    }
    // Inside of elements: not 0 in the last key of a node only.
    key.place.push_back(in.number(8));
    return key;
  }

  /// A search goes to the child whose key is the last one not above a place: all places of a node lie in [from, to).
  void check_node(std::uint64_t address, std::uint64_t level, bool top, const Place* from, const Place* to);
  void check_chunk(const Key& key, std::uint64_t address);

  const Hdf5Structure& structure_;
  const std::string& name_;
  const std::string what_;
  const Hdf5Chunks& chunks_;
  std::set<std::uint64_t> nodes_;
  Place next_;  ///< of the chunk that must come next
  std::uint64_t found_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  ///< address and bytes
};

void ChunkTree::check_node(std::uint64_t address, std::uint64_t level, bool top, const Place* from, const Place* to) {
  const std::uint64_t most = structure_.most_chunk_children();
  const std::uint64_t key_bytes = 16 + 8 * chunks_.shape.size(), address_bytes = structure_.address_bytes();
  const std::string node =
      structure_.read(address, 8 + 2 * address_bytes + (most + 1) * key_bytes + most * address_bytes, what_);
  Hdf5Cursor in = structure_.cursor(node, what_);
  in.expect({"TREE\1", 5});
  const std::uint64_t own_level = in.number(1), children = in.number(2);
  in.require(nodes_.insert(address).second && nodes_.size() <= 2 * chunks_.count + most_levels);
  in.require((top ? own_level < level : own_level + 1 == level) && children <= most && (top || children > 0));
  in.skip(2 * address_bytes);
  if (children == 0) return;
  Key key = read_key(in);
  in.require(from == nullptr || *from <= key.place);
  for (std::uint64_t n = 0; n < children; ++n) {
    const std::uint64_t child = in.number(address_bytes);
    Key next = read_key(in);
    in.require(key.place < next.place);
    if (own_level > 0) {
      check_node(child, own_level, false, &key.place, &next.place);
    } else {
      in.require(to == nullptr || key.place < *to);
      check_chunk(key, child);
    }
    key = std::move(next);
  }
}

void ChunkTree::check_chunk(const Key& key, std::uint64_t address) {
  if (!key.on_grid || found_ == chunks_.count) structure_.file().damaged(what_);
  if (key.place != next_) {
    // Places ascend, so what comes too late was left out.
    if (key.place > next_) refuse_missing_chunk(structure_, name_);
    structure_.file().damaged(what_);
  }
  if (!chunks_.allow(key.stored, key.skipped) || !structure_.contains(address, key.stored)) {
    structure_.file().damaged(what_);
  }
  places_.emplace_back(address, key.stored);
  ++found_;
  for (std::size_t k = chunks_.shape.size(); k-- > 0;) {
    if (++next_[k] * chunks_.shape[k] < chunks_.extent[k]) break;
    next_[k] = 0;
  }
}

}  // namespace

bool Hdf5Chunks::allow(std::uint64_t stored, std::uint64_t skipped) const {
  const std::uint64_t checksum = fletcher32 ? 4 : 0;
  // A compression that gains nothing is left out; the other filters never are.
  const bool deflated = deflate && skipped != std::uint64_t{1} << *deflate;
  if (skipped != 0 && deflated) return false;
  if (skipped != 0 && !deflate) return false;
  if (!deflated) return stored == bytes + checksum;
  return stored > checksum && stored <= bytes + bytes / 512 + 64 && bytes / most_compression <= stored;
}

void check_chunk_tree(const Hdf5Structure& structure, const std::string& name, const Hdf5Chunks& chunks,
                      std::uint64_t address) {
  ChunkTree(structure, name, chunks).run(address);
}

void refuse_missing_chunk(const Hdf5Structure& structure, const std::string& name) {
  throw InputError(
      fmt::format("{}: dataset '{}' was written in part only, at least one of its chunks is missing; write "
                  "the dump again.",
                  structure.file().path(), name));
}

}  // namespace trifuse
