#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse::testing {

/// Returns a tile for a handwritten tile space.
inline Tile tile(OrbitalClass orbital_class, std::int64_t size, int irrep = 0) {
  return {orbital_class, irrep, size, 0, 0};
}

/// Returns one tile of each class, all of one size.
inline TileSpace one_tile_per_class(std::int64_t size, bool restricted) {
  std::vector<Tile> tiles;
  for (const OrbitalClass c : orbital_classes) tiles.push_back(tile(c, size));
  return {tiles, restricted};
}

/// Orbital ranges of random sizes, `irreps` of them for each class, each with up to `most` orbitals.
class RandomRanges {
 public:
  explicit RandomRanges(unsigned seed) : random_(seed) {}

  std::vector<OrbitalRange> draw(int irreps, std::int64_t most, bool restricted) {
    std::vector<OrbitalRange> ranges;
    for (const Space space : {Space::hole, Space::particle}) {
      for (const Spin spin : {Spin::alpha, Spin::beta}) {
        const bool hole = space == Space::hole, alpha = spin == Spin::alpha;
        const OrbitalClass c = hole ? (alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta)
                                    : (alpha ? OrbitalClass::particle_alpha : OrbitalClass::particle_beta);
        for (int x = 0; x < irreps; ++x) {
          std::int64_t size = std::uniform_int_distribution<std::int64_t>(0, most)(random_);
          if (restricted && !alpha) size = alpha_size(ranges, hole, x);
          if (size > 0) ranges.push_back({c, x, size});
        }
      }
    }
    return ranges;
  }

 private:
  static std::int64_t alpha_size(const std::vector<OrbitalRange>& ranges, bool hole, int irrep) {
    const OrbitalClass c = hole ? OrbitalClass::hole_alpha : OrbitalClass::particle_alpha;
    for (const OrbitalRange& range : ranges) {
      if (range.orbital_class == c && range.irrep == irrep) return range.size;
    }
    return 0;
  }
  std::mt19937 random_;
};

/// Class, spin and irrep of every orbital of a space in sorted order.
struct Orbital {
  Space space;
  Spin spin;
  int irrep;
};
inline std::vector<Orbital> orbitals_of(const TileSpace& space) {
  std::vector<Orbital> orbitals;
  for (const Tile& t : space.tiles()) {
    for (std::int64_t x = 0; x < t.size; ++x) orbitals.push_back({t.space(), t.spin(), t.irrep});
  }
  return orbitals;
}

}
