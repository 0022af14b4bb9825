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
      const std::int64_t first =
          origin(x).offset + size_in_store(x) * (origin(y).offset + ny + size_in_store(y) * (origin(z).offset + nz));
      const double* from = whole.data + first * whole.stride;
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
        const std::int64_t hole = origin(h2).offset + n2 + size_in_store(h2) * (origin(h1).offset + n1);
        const std::int64_t particle = origin(p1).offset + m1 + size_in_store(p1) * hole;
        const double* from = whole.data() + origin(p2).offset + size_in_store(p2) * particle;
        std::memcpy(to, from, static_cast<std::size_t>(size(p2)) * sizeof(double));
      }
    }
  }
  std::fill(to, to + vector_margin, 0.0);
  return PanelGuard(memory);
}

void PanelParts::prefetch(const Task& task, const ContractionList& contractions) const {
  if (!store_->has_others()) return;
  store_->layout().visit_panels_of(task, contractions, [&](PanelKey key) {
    // Left and right panels have three tiles.
    const std::size_t count = key.kind == PanelKind::vvoo ? 4 : 3;
    for (std::size_t n = 0; n < count; ++n) key.tiles[n] = origin(key.tiles[n]).tile;
    store_->prefetch(key);
  });
}

}
