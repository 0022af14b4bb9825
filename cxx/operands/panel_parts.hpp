#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "cxx/operands/panel_store.hpp"

namespace trifuse {

/// Panels for an executor on CPU cores. The tiles of the executor may be finer than the tiles of the panel store,
/// because CPU workers beside GPUs read the panels that the GPUs need. If the tiles are the same, no copy is made.
/// Otherwise the rows are copied to memory of the caller. Any thread may call any function.
class PanelParts {
 public:
  /// `store`: the panels. `tiles`: tiles of the executor, a refinement of the tiles of the store. Throws Error if a
  /// tile crosses a tile of the store.
  PanelParts(std::shared_ptr<const PanelStore> store, const TileSpace& tiles);

  const TileSpace& tiles() const { return tiles_; }
  const PanelStore& store() const { return *store_; }
  /// Returns true if the tiles differ from those of the store, so that panels are copied.
  bool copies_panels() const { return copies_panels_; }

  /// left() and right() return a panel with the shapes of `PanelKey`; its data are null if the problem has no such
  /// panel. They pass on exceptions of `PanelStore::acquire`.
  ///
  /// `tiles`: {p, h, h'} for a left panel, {p, p', h} for a right panel, in the tiles of the executor. `side`: the
  /// amplitudes. `contracted`: length of the contracted index. `memory`: receives the copy if one is made; the panel is
  /// valid until `memory` is used again.
  Panel left(const PanelTiles& tiles, Side side, std::int64_t contracted, Buffer& memory) const;
  Panel right(const PanelTiles& tiles, Side side, std::int64_t contracted, Buffer& memory) const;
  /// Returns the block [h, h', p, p'] of a set (see `PanelKey`); null data if the problem has no such block. `tiles`:
  /// {p, p', h, h'}, in the tiles of the executor. `memory`: room for the block and `vector_margin` more; receives the
  /// copy if one is made.
  PanelGuard vvoo_block(std::size_t set, const std::array<int, 4>& tiles, double* memory) const;

  /// Calls use(row, position) for each row of a left or right panel. `row`: number of the row in the panel that left()
  /// or right() returns. `position`: where the row of the side begins in PanelStore::layout_of_sums(). `key`: a panel
  /// of the problem, in the tiles of the executor.
  void for_each_row(const PanelKey& key, const std::function<void(std::int64_t row, std::int64_t position)>& use) const;
  /// Calls use(row, position) for each row [p'] of a vvoo block that the sums have. `row`: h, h' and p of the row as
  /// one number, in the order of the block. `position`: as above.
  void for_each_vvoo_row(std::size_t set, const std::array<int, 4>& tiles,
                         const std::function<void(std::int64_t row, std::int64_t position)>& use) const;
  /// Returns the numbers of particles d and holes l of a left or right panel. `key`: in the tiles of the executor.
  ContractedExtent contracted(const PanelKey& key) const { return store_->layout().contracted(in_store(key)); }
  /// Returns the rows of a left or right panel as tasks read it, and those in the sums. `key`: in the tiles of the
  /// executor.
  PanelRows rows_of(const PanelKey& key) const { return store_->layout().rows(in_store(key)); }
  PanelRows rows_of_sums(const PanelKey& key) const { return store_->layout_of_sums().stored_rows(in_store(key)); }

  /// Announces that a task will acquire its panels soon. `task`: a task of `tiles()`. `contractions`: its contraction
  /// list.
  void prefetch(const Task& task, const ContractionList& contractions) const;

 private:
  /// The position of a tile in a tile of the store.
  struct Origin {
    int tile;             ///< number of the tile of the store
    std::int64_t offset;  ///< first orbital, counted from the begin of the tile of the store
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
  PanelKey in_store(PanelKey key) const;
  /// Returns the number in the panel of the store of the row [nz, ny, nx] on the tiles z, y, x.
  std::int64_t row_in_store(int x, int y, int z, std::int64_t nx, std::int64_t ny, std::int64_t nz) const {
    return origin(x).offset + nx +
           size_in_store(x) * (origin(y).offset + ny + size_in_store(y) * (origin(z).offset + nz));
  }
  /// Copies the rows of the tiles x, y, z from a panel of the store. The rows of the panel and of the copy are in the
  /// order [z, y, x]. Returns `whole` without a copy if it is empty or if the tiles are those of the store.
  Panel rows(Panel whole, int x, int y, int z, std::int64_t contracted, Buffer& memory) const;

  std::shared_ptr<const PanelStore> store_;
  TileSpace tiles_;
  bool copies_panels_;
  std::vector<Origin> origins_;  ///< origins_[tile]
};

}
