#pragma once

#include <array>
#include <memory>
#include <vector>

#include "tce_tiles/tiles/memory_source.hpp"
#include "tests/support/copied_sources.hpp"

namespace trifuse::testing {

/// An unrestricted source with alpha and beta interchanged everywhere.
class SwappedSpins {
 public:
  explicit SwappedSpins(const TileSource& source) : old_(copy_in_tiles(source, 1 << 20, 1 << 20)) {
    const TileSpace& space = old_->tiles();
    std::vector<Tile> tiles;
    std::vector<double> energies;
    for (const OrbitalClass c : {OrbitalClass::hole_beta, OrbitalClass::hole_alpha, OrbitalClass::particle_beta,
                                 OrbitalClass::particle_alpha}) {
      for (int t = space.first(c); t < space.last(c); ++t) {
        Tile tile = space[t];
        tile.orbital_class = static_cast<OrbitalClass>(static_cast<int>(c) ^ 1);  // the other spin
        tiles.push_back(tile);
        old_tile_.push_back(t);
        const auto eps = source.orbital_energies().subspan(static_cast<std::size_t>(tile.offset),
                                                           static_cast<std::size_t>(tile.size));
        energies.insert(energies.end(), eps.begin(), eps.end());
      }
    }
    result_ = std::make_unique<MemorySource>(TileSpace(tiles, false), energies, source.info(),
                                             MemorySource::Contents{true, false});
    for (const Block& b : result_->t1_index().blocks()) {
      std::vector<double> data(static_cast<std::size_t>(b.size));
      old_->read_t1(old_tile(b.tiles[0]), old_tile(b.tiles[1]), data);
      result_->set_t1(b.tiles[0], b.tiles[1], data);
    }
    for (const Block& b : result_->t2_index().blocks()) {
      const auto& t = b.tiles;
      result_->set_t2(t[0], t[1], t[2], t[3], four(b, &TileSource::read_t2));
    }
    for (const Block& b : result_->v2_index().blocks()) {
      const auto& t = b.tiles;
      result_->set_v2(t[0], t[1], t[2], t[3], four(b, &TileSource::read_v2));
    }
  }

  std::unique_ptr<MemorySource> take() { return std::move(result_); }

 private:
  int old_tile(int t) const { return old_tile_[static_cast<std::size_t>(t)]; }

  /// Reads the block with these orbitals from the old source. If the tiles of a pair have the reverse order there,
  /// changes the sign.
  std::vector<double> four(const Block& block,
                           void (TileSource::*read)(int, int, int, int, std::span<double>) const) const {
    std::array<int, 4> t{};
    std::array<std::size_t, 4> from = {0, 1, 2, 3};  // [dimension of the old block]: dimension of the new block
    for (std::size_t d = 0; d < 4; ++d) t[d] = old_tile(block.tiles[d]);
    double sign = 1.0;
    for (const std::size_t pair : {std::size_t{0}, std::size_t{2}}) {
      if (t[pair] <= t[pair + 1]) continue;
      std::swap(t[pair], t[pair + 1]);
      std::swap(from[pair], from[pair + 1]);
      sign = -sign;
    }
    std::vector<double> data(static_cast<std::size_t>(block.size)), result(data.size());
    ((*old_).*read)(t[0], t[1], t[2], t[3], data);
    const auto size = [&](int tile) { return static_cast<std::size_t>(old_->tiles()[tile].size); };
    std::array<std::size_t, 4> stride{};  // strides in the old block, by dimension of the new block
    for (std::size_t d = 4, step = 1; d-- > 0; step *= size(t[d])) stride[from[d]] = step;
    std::size_t at = 0;
    for (std::size_t w = 0; w < size(t[from[0]]); ++w)
      for (std::size_t x = 0; x < size(t[from[1]]); ++x)
        for (std::size_t y = 0; y < size(t[from[2]]); ++y)
          for (std::size_t z = 0; z < size(t[from[3]]); ++z) {
            result[at++] = sign * data[w * stride[0] + x * stride[1] + y * stride[2] + z * stride[3]];
          }
    return result;
  }

  std::unique_ptr<TileSource> old_;
  std::vector<int> old_tile_;
  std::unique_ptr<MemorySource> result_;
};

}
