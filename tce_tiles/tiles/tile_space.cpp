#include "tce_tiles/tiles/tile_space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

[[noreturn]] void refuse_orbitals() {
  throw InputError(fmt::format("These tiles have more than {} spin orbitals, which is the largest possible number.",
                               max_spin_orbitals));
}

}

std::vector<std::int64_t> divide_into_tiles(std::int64_t n, std::int64_t tile_size) {
  if (tile_size < 1) throw UsageError(fmt::format("A tile size of {} is not possible; give 1 or more.", tile_size));
  if (n > max_spin_orbitals) refuse_orbitals();
  if (n < 1) return {};
  // Without std::min, a tile size near the largest integer would make this sum overflow and leave no tiles.
  const std::int64_t count = (n + std::min(tile_size, n) - 1) / std::min(tile_size, n);
  std::vector<std::int64_t> sizes;
  for (std::int64_t k = 0; k < count; ++k) sizes.push_back((k + 1) * n / count - k * n / count);
  return sizes;
}

std::string to_string(OrbitalClass c) {
  switch (c) {
    case OrbitalClass::hole_alpha:
      return "occupied alpha";
    case OrbitalClass::hole_beta:
      return "occupied beta";
    case OrbitalClass::particle_alpha:
      return "virtual alpha";
    case OrbitalClass::particle_beta:
      return "virtual beta";
  }
  return "?";
}

TileSpace::TileSpace(std::vector<Tile> tiles, bool restricted) : tiles_(std::move(tiles)), restricted_(restricted) {
  std::array<int, 4> count{};
  int previous = 0;
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    Tile& tile = tiles_[t];
    const int c = static_cast<int>(tile.orbital_class);
    if (c < previous) {
      throw InputError(
          fmt::format("Tile {} of {} ({}) is out of order: the classes must come as occupied alpha, occupied beta, "
                      "virtual alpha, virtual beta.",
                      t + 1, tiles_.size(), to_string(tile.orbital_class)));
    }
    if (tile.size < 1 || tile.irrep < 0 || tile.irrep > 7) {
      throw InputError(
          fmt::format("Tile {} of {} has size {} and irrep {}; a size of at least 1 and an irrep of 0 to 7 are needed.",
                      t + 1, tiles_.size(), tile.size, tile.irrep));
    }
    if (tile.size > max_spin_orbitals - orbitals_) refuse_orbitals();
    previous = c;
    ++count[static_cast<std::size_t>(c)];
    tile.offset = orbitals_;
    Range& range = ranges_[static_cast<std::size_t>(c)][static_cast<std::size_t>(tile.irrep)];
    if (range.size == 0) range.offset = tile.offset;
    if (range.offset + range.size != tile.offset) {
      throw InputError(fmt::format("Tile {} is out of order: the {} tiles of one irrep must stand together.", t + 1,
                                   to_string(tile.orbital_class)));
    }
    range.size += tile.size;
    tile.partner = static_cast<int>(t);
    orbitals_ += tile.size;
  }
  for (std::size_t c = 0; c < 4; ++c) class_start_[c + 1] = class_start_[c] + count[c];
  if (!restricted_) return;
  for (const OrbitalClass alpha : {OrbitalClass::hole_alpha, OrbitalClass::particle_alpha}) {
    const auto beta = static_cast<OrbitalClass>(static_cast<int>(alpha) + 1);
    const int n = last(alpha) - first(alpha);
    bool same = n == last(beta) - first(beta);
    for (int k = 0; same && k < n; ++k) {
      Tile& a = tiles_[static_cast<std::size_t>(first(alpha) + k)];
      Tile& b = tiles_[static_cast<std::size_t>(first(beta) + k)];
      same = a.size == b.size && a.irrep == b.irrep;
      b.partner = first(alpha) + k;
    }
    if (!same) throw InputError("A restricted reference needs the same alpha and beta tiles, but they differ.");
  }
}

TileSpace TileSpace::partition(std::span<const OrbitalRange> ranges, std::int64_t hole_size, std::int64_t particle_size,
                               bool restricted) {
  std::vector<Tile> tiles;
  for (const OrbitalRange& range : ranges) {
    const std::int64_t tile_size = space_of(range.orbital_class) == Space::hole ? hole_size : particle_size;
    for (const std::int64_t size : divide_into_tiles(range.size, tile_size)) {
      tiles.push_back({range.orbital_class, range.irrep, size, 0, 0});
    }
  }
  return TileSpace(std::move(tiles), restricted);
}

std::int64_t TileSpace::orbitals(OrbitalClass c) const {
  std::int64_t n = 0;
  for (int t = first(c); t < last(c); ++t) n += (*this)[t].size;
  return n;
}

std::int64_t TileSpace::largest_tile() const {
  std::int64_t largest = 0;
  for (const Tile& tile : tiles_) largest = std::max(largest, tile.size);
  return largest;
}

std::vector<OrbitalRange> TileSpace::ranges() const {
  std::vector<OrbitalRange> ranges;
  for (const Tile& tile : tiles_) {
    if (ranges.empty() || ranges.back().orbital_class != tile.orbital_class || ranges.back().irrep != tile.irrep) {
      ranges.push_back({tile.orbital_class, tile.irrep, 0});
    }
    ranges.back().size += tile.size;
  }
  return ranges;
}

TileSpace TileSpace::retiled(std::int64_t hole_size, std::int64_t particle_size) const {
  return partition(ranges(), hole_size, particle_size, restricted_);
}

TileSpace TileSpace::refined(std::int64_t hole_size, std::int64_t particle_size) const {
  std::vector<OrbitalRange> ranges;
  for (const Tile& tile : tiles_) ranges.push_back({tile.orbital_class, tile.irrep, tile.size});
  return partition(ranges, hole_size, particle_size, restricted_);
}

TileSpace TileSpace::retiled_aligned(std::int64_t hole_size, std::int64_t particle_size, std::int64_t granule) const {
  if (hole_size < 1 || particle_size < 1 || granule < 1) {
    throw UsageError(fmt::format("Tile sizes of {} and {} in steps of {} are not possible; give 1 or more.", hole_size,
                                 particle_size, granule));
  }
  std::vector<Tile> tiles;
  for (const OrbitalRange& range : ranges()) {
    // With this bound, sums of sizes do not overflow.
    const std::int64_t asked =
        std::min(max_spin_orbitals, space_of(range.orbital_class) == Space::hole ? hole_size : particle_size);
    const std::int64_t size = asked < granule ? asked : asked / granule * granule;
    for (std::int64_t at = 0; at < range.size; at += size) {
      tiles.push_back({range.orbital_class, range.irrep, std::min(size, range.size - at), 0, 0});
    }
  }
  return TileSpace(std::move(tiles), restricted_);
}

bool TileSpace::operator==(const TileSpace& other) const {
  return restricted_ == other.restricted_ && std::equal(tiles_.begin(), tiles_.end(), other.tiles_.begin(),
                                                        other.tiles_.end(), [](const Tile& a, const Tile& b) {
                                                          return a.orbital_class == b.orbital_class &&
                                                                 a.irrep == b.irrep && a.size == b.size;
                                                        });
}

SortedOrbitals sort_orbitals(const OrbitalCounts& counts, bool split_open_shells) {
  SortedOrbitals sorted;
  // Adds the orbitals of `irrep` among the orbitals [begin, end) of one spin.
  const auto add = [&](OrbitalClass c, int irrep, std::int64_t begin, std::int64_t end) {
    const auto& irreps = counts.irreps[spin_of(c) == Spin::alpha ? 0 : 1];
    std::int64_t size = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      if ((irreps.empty() ? 0 : irreps[static_cast<std::size_t>(p)]) != irrep) continue;
      sorted.orbital.push_back(p);
      ++size;
    }
    if (size > 0) sorted.ranges.push_back({c, irrep, size});
  };
  for (const OrbitalClass c : orbital_classes) {
    const std::size_t s = spin_of(c) == Spin::alpha ? 0 : 1;
    if (counts.frozen_core[s] > counts.occupied[s] ||
        counts.occupied[s] + counts.frozen_virtual[s] > counts.orbitals[s]) {
      throw InputError(fmt::format(
          "{} orbitals are too few for {} occupied orbitals with {} frozen core and {} frozen virtual orbitals.",
          counts.orbitals[s], counts.occupied[s], counts.frozen_core[s], counts.frozen_virtual[s]));
    }
    const std::int64_t top = counts.orbitals[s] - counts.frozen_virtual[s];
    // The singly occupied orbitals are [occupied[1], occupied[0]).
    for (int irrep = 0; irrep < 8; ++irrep) {
      switch (c) {
        case OrbitalClass::hole_alpha:
          if (split_open_shells) {
            add(c, irrep, counts.frozen_core[s], counts.occupied[1]);
            add(c, irrep, counts.occupied[1], counts.occupied[0]);
          } else {
            add(c, irrep, counts.frozen_core[s], counts.occupied[s]);
          }
          break;
        case OrbitalClass::hole_beta:
          add(c, irrep, counts.frozen_core[s], counts.occupied[s]);
          break;
        case OrbitalClass::particle_alpha:
          add(c, irrep, counts.occupied[s], top);
          break;
        case OrbitalClass::particle_beta:
          if (split_open_shells) {
            add(c, irrep, counts.occupied[1], counts.occupied[0]);
            add(c, irrep, counts.occupied[0], top);
          } else {
            add(c, irrep, counts.occupied[s], top);
          }
          break;
      }
    }
  }
  return sorted;
}

}
