#include "cxx/operands/panel_parts.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

PanelParts::PanelParts(std::shared_ptr<const PanelStore> store, const TileSpace& tiles)
    : store_(std::move(store)), tiles_(tiles), copies_panels_(!(tiles == store_->tiles())) {
  const TileSpace& whole = store_->tiles();
  int t = 0;
  for (const Tile& tile : tiles_.tiles()) {
    while (t < whole.size() && whole[t].offset + whole[t].size <= tile.offset) ++t;
    if (t == whole.size() || tile.offset + tile.size > whole[t].offset + whole[t].size)
      throw Error("A tile of an executor crosses one of the panels that it reads.");
    origins_.push_back({t, tile.offset - whole[t].offset});
  }
}

Panel PanelParts::rows(Panel whole, int x, int y, int z, std::int64_t contracted, Buffer& memory) const {
  if (whole.data == nullptr || !copies_panels_) return whole;
  memory.reserve(static_cast<std::size_t>(size(x) * size(y) * size(z) * contracted));
  double* to = memory.data();
  for (std::int64_t nz = 0; nz < size(z); ++nz) {
    for (std::int64_t ny = 0; ny < size(y); ++ny) {
      const double* from = whole.data + row_in_store(x, y, z, 0, ny, nz) * whole.stride;
      for (std::int64_t nx = 0; nx < size(x); ++nx, from += whole.stride, to += contracted)
        std::memcpy(to, from, static_cast<std::size_t>(contracted) * sizeof(double));
    }
  }
  return {memory.data(), contracted, {}};
}

Panel PanelParts::left(const PanelTiles& tiles, Side side, std::int64_t contracted, Buffer& memory) const {
  return rows(store_->acquire(PanelKey::left(in_store(tiles), side)), tiles[0], tiles[2], tiles[1], contracted, memory);
}

Panel PanelParts::right(const PanelTiles& tiles, Side side, std::int64_t contracted, Buffer& memory) const {
  return rows(store_->acquire(PanelKey::right(in_store(tiles), side)), tiles[1], tiles[0], tiles[2], contracted,
              memory);
}

PanelGuard PanelParts::vvoo_block(std::size_t set, const std::array<int, 4>& tiles, double* memory) const {
  PanelGuard whole = store_->acquire(PanelKey::vvoo(set, in_store(tiles))).guard;
  if (whole.data() == nullptr || !copies_panels_) return whole;
  const auto [p1, p2, h1, h2] = tiles;
  double* to = memory;
  for (std::int64_t n1 = 0; n1 < size(h1); ++n1) {
    for (std::int64_t n2 = 0; n2 < size(h2); ++n2) {
      for (std::int64_t m1 = 0; m1 < size(p1); ++m1, to += size(p2)) {
        const double* from =
            whole.data() + origin(p2).offset + size_in_store(p2) * row_in_store(p1, h2, h1, m1, n2, n1);
        std::memcpy(to, from, static_cast<std::size_t>(size(p2)) * sizeof(double));
      }
    }
  }
  std::fill(to, to + vector_margin, 0.0);
  return PanelGuard(memory);
}

PanelKey PanelParts::in_store(PanelKey key) const {
  // Left and right panels have three tiles.
  const std::size_t count = key.kind == PanelKind::vvoo ? 4 : 3;
  for (std::size_t n = 0; n < count; ++n) key.tiles[n] = origin(key.tiles[n]).tile;
  return key;
}

void PanelParts::for_each_row(const PanelKey& key,
                              const std::function<void(std::int64_t row, std::int64_t position)>& use) const {
  const bool left = key.kind == PanelKind::left;
  const int x = key.tiles[left ? 0 : 1], y = key.tiles[left ? 2 : 0], z = key.tiles[left ? 1 : 2];
  const PanelRows rows = rows_of_sums(key);
  const std::int64_t begin = store_->layout_of_sums().find(in_store(key))->begin + rows.begin;
  std::int64_t row = 0;
  for (std::int64_t nz = 0; nz < size(z); ++nz)
    for (std::int64_t ny = 0; ny < size(y); ++ny)
      for (std::int64_t nx = 0; nx < size(x); ++nx) use(row++, begin + row_in_store(x, y, z, nx, ny, nz) * rows.stride);
}

void PanelParts::for_each_vvoo_row(std::size_t set, const std::array<int, 4>& tiles,
                                   const std::function<void(std::int64_t row, std::int64_t position)>& use) const {
  const auto [p1, p2, h1, h2] = tiles;
  const PanelExtent& block = *store_->layout_of_sums().find(PanelKey::vvoo(set, in_store(tiles)));
  if (block.doubles == 0) return;
  const std::int64_t begin = block.begin + origin(p2).offset;
  std::int64_t row = 0;
  for (std::int64_t n1 = 0; n1 < size(h1); ++n1)
    for (std::int64_t n2 = 0; n2 < size(h2); ++n2)
      for (std::int64_t m1 = 0; m1 < size(p1); ++m1)
        use(row++, begin + size_in_store(p2) * row_in_store(p1, h2, h1, m1, n2, n1));
}

void PanelParts::prefetch(const Task& task, const ContractionList& contractions) const {
  if (!store_->has_others()) return;
  store_->layout().visit_panels_of(task, contractions, [&](const PanelKey& key) { store_->prefetch(in_store(key)); });
}

}
