#include <set>
#include <utility>

#include "tce_tiles/hdf5/hdf5_chunks.hpp"

namespace trifuse {
namespace {

constexpr std::uint64_t max_levels = 16;

/// The indices of a chunk in the grid of chunks, and one more number, which is 0 for a chunk.
using GridPosition = std::vector<std::uint64_t>;

class ChunkTree {
 public:
  ChunkTree(const Hdf5Structure& structure, Hdf5ChunkList& list) : structure_(structure), list_(list) {}

  /// Reads the node at `address` and all nodes below it. All places in the node must lie in [from, to), because a
  /// search descends to the child with the last key that is not above the wanted place. Null: no bound. `top`: true for
  /// the root, whose level must be below `level`; any other node must be one level below `level`.
  void read_node(std::uint64_t address, std::uint64_t level, bool top, const GridPosition* from,
                 const GridPosition* to);

 private:
  struct Key {
    std::uint64_t stored, skipped;
    GridPosition position;
    bool on_grid;
  };

  Key read_key(Hdf5Cursor& in) const {
    Key key{in.number(4), in.number(4), {}, true};
    for (const std::uint64_t extent : list_.chunks().shape) {
      const std::uint64_t offset = in.number(8);
      key.position.push_back(offset / extent);
      key.on_grid = key.on_grid && offset % extent == 0;
    }
    // The offset inside an element. It differs from 0 only in the last key of a node.
    key.position.push_back(in.number(8));
    return key;
  }
  void add_chunk(Key key, std::uint64_t address) {
    if (!key.on_grid || key.position.back() != 0) structure_.file().damaged(list_.what());
    key.position.pop_back();
    list_.add(key.position, {address, key.stored, key.skipped});
  }

  const Hdf5Structure& structure_;
  Hdf5ChunkList& list_;
  std::set<std::uint64_t> nodes_;
};

void ChunkTree::read_node(std::uint64_t address, std::uint64_t level, bool top, const GridPosition* from,
                          const GridPosition* to) {
  const std::uint64_t most = structure_.max_chunk_children();
  const std::uint64_t key_bytes = 16 + 8 * list_.chunks().shape.size(), address_bytes = structure_.address_bytes();
  const std::string node =
      structure_.read(address, 8 + 2 * address_bytes + (most + 1) * key_bytes + most * address_bytes, list_.what());
  Hdf5Cursor in = structure_.cursor(node, list_.what());
  in.expect({"TREE\1", 5});
  const std::uint64_t own_level = in.number(1), children = in.number(2);
  in.require(nodes_.insert(address).second && nodes_.size() <= 2 * list_.chunks().count + max_levels);
  in.require((top ? own_level < level : own_level + 1 == level) && children <= most && (top || children > 0));
  in.skip(2 * address_bytes);
  if (children == 0) return;
  Key key = read_key(in);
  in.require(from == nullptr || *from <= key.position);
  for (std::uint64_t n = 0; n < children; ++n) {
    const std::uint64_t child = in.number(address_bytes);
    Key next = read_key(in);
    in.require(key.position < next.position);
    if (own_level > 0) {
      read_node(child, own_level, false, &key.position, &next.position);
    } else {
      in.require(to == nullptr || key.position < *to);
      add_chunk(std::move(key), child);
    }
    key = std::move(next);
  }
}

}

void read_chunk_tree(const Hdf5Structure& structure, Hdf5ChunkList& list, std::uint64_t address) {
  ChunkTree(structure, list).read_node(address, max_levels + 1, true, nullptr, nullptr);
}

}
