#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/operands/panels.hpp"

namespace trifuse {

/// Panels as executors on cores want them, of tiles that may be finer than those of the store: cores beside GPUs read
/// the panels that were cut for these. A panel of the store's own tiles is where it is; of one of finer tiles the rows
/// are copied to memory of the caller's, where they stay until he gives it to another panel. For any thread.
class PanelParts {
 public:
  /// `tiles`: those of the store, each cut further or not.
  PanelParts(std::shared_ptr<const PanelStore> store, const TileSpace& tiles);

  const TileSpace& tiles() const { return tiles_; }
  const PanelStore& store() const { return *store_; }
  /// Whether anything is copied.
  bool cut() const { return cut_; }

  /// Null data where the panel has no inner index. `inner`: how long that is.
  Panel left(const PanelTiles& tiles, Side side, std::int64_t inner, Buffer& memory) const;
  Panel right(const PanelTiles& tiles, Side side, std::int64_t inner, Buffer& memory) const;
  /// [p', p, h', h], p' fastest; `memory`: room for the block and `vector_margin`.
  PanelHold pair_block(const PanelStore::Disconnected& factors, const std::array<int, 4>& tiles, double* memory) const;

  /// Says that a task of `tiles` will want its panels soon.
  void ask(const Task& task, const ContractionList& contractions) const;

 private:
  /// Where a tile lies in one of the store's.
  struct Origin {
    int tile;
    std::int64_t offset;
  };
  const Origin& origin(int tile) const { return origins_[static_cast<std::size_t>(tile)]; }
  std::int64_t size(int tile) const { return tiles_[tile].size; }
  std::int64_t size_in_store(int tile) const { return store_->tiles()[origin(tile).tile].size; }
  template <std::size_t count>
  std::array<int, count> in_store(const std::array<int, count>& tiles) const {
    std::array<int, count> found{};
    for (std::size_t q = 0; q < count; ++q) found[q] = origin(tiles[q]).tile;
    return found;
  }
  /// Of a panel of the store, whose rows stand [x, y, z], x fastest, those of these tiles.
  Panel rows(Panel whole, int x, int y, int z, std::int64_t inner, Buffer& memory) const;

  std::shared_ptr<const PanelStore> store_;
  TileSpace tiles_;
  bool cut_;
  std::vector<Origin> origins_;  ///< of each of `tiles_`
};

}  // namespace trifuse
