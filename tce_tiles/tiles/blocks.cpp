#include "tce_tiles/tiles/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "cxx/base/error.hpp"

namespace trifuse {

void BlockIndex::add(std::array<int, 4> tiles, std::int64_t key, std::int64_t size) {
  position_.emplace(key, blocks_.size());
  blocks_.push_back({tiles, key, doubles_, size});
  doubles_ += size;
}

const Block* BlockIndex::find(std::int64_t key) const {
  const auto it = position_.find(key);
  return it == position_.end() ? nullptr : &blocks_[it->second];
}

bool block_exists(const TileSpace& space, int upper, int lower) {
  const Tile& u = space[upper];
  const Tile& l = space[lower];
  if (u.spin() != l.spin() || u.irrep != l.irrep) return false;
  return !(space.restricted() && u.spin() == Spin::beta);
}

bool block_exists(const TileSpace& space, int upper1, int upper2, int lower1, int lower2) {
  const Tile& u1 = space[upper1];
  const Tile& u2 = space[upper2];
  const Tile& l1 = space[lower1];
  const Tile& l2 = space[lower2];
  const int upper = spin_number(u1.spin()) + spin_number(u2.spin());
  const int lower = spin_number(l1.spin()) + spin_number(l2.spin());
  if (upper != lower || (u1.irrep ^ u2.irrep ^ l1.irrep ^ l2.irrep) != 0) return false;
  return !(space.restricted() && upper + lower == 8);
}

std::int64_t f1_key(const TileSpace& space, int g6, int g5) {
  return g5 + static_cast<std::int64_t>(space.size()) * g6;
}

std::int64_t t1_key(const TileSpace& space, int p, int h) {
  return h + static_cast<std::int64_t>(space.hole_tiles()) * (p - space.hole_tiles());
}

std::int64_t t2_key(const TileSpace& space, int p1, int p2, int h3, int h4) {
  const std::int64_t noab = space.hole_tiles();
  const std::int64_t nvab = space.particle_tiles();
  return h4 + noab * (h3 + noab * ((p2 - noab) + nvab * (p1 - noab)));
}

std::int64_t v2_key(const TileSpace& space, int g3, int g4, int g1, int g2) {
  const std::int64_t n = space.size();
  return g2 + n * (g1 + n * (g4 + n * g3));
}

std::int64_t block_key(const TileSpace& space, TensorKind tensor, const std::array<int, 4>& tiles) {
  const auto [p, q, r, s] = tiles;
  switch (tensor) {
    case TensorKind::fock:
      return f1_key(space, p, q);
    case TensorKind::t1:
      return t1_key(space, p, q);
    case TensorKind::t2:
      return t2_key(space, p, q, r, s);
    case TensorKind::v2:
      break;
  }
  return v2_key(space, p, q, r, s);
}

namespace {

constexpr std::int64_t no_key = -1;

bool within(const TileSpace& space, std::initializer_list<int> tiles) {
  return std::all_of(tiles.begin(), tiles.end(), [&](int t) { return t >= 0 && t < space.size(); });
}

}

std::int64_t checked_f1_key(const TileSpace& space, int g6, int g5) {
  return within(space, {g6, g5}) ? f1_key(space, g6, g5) : no_key;
}

std::int64_t checked_t1_key(const TileSpace& space, int p, int h) {
  return within(space, {p, h}) && p >= space.hole_tiles() && h < space.hole_tiles() ? t1_key(space, p, h) : no_key;
}

std::int64_t checked_t2_key(const TileSpace& space, int p1, int p2, int h3, int h4) {
  const int holes = space.hole_tiles();
  const bool fits = within(space, {p1, p2, h3, h4}) && p1 >= holes && p2 >= holes && h3 < holes && h4 < holes;
  return fits ? t2_key(space, p1, p2, h3, h4) : no_key;
}

std::int64_t checked_v2_key(const TileSpace& space, int g3, int g4, int g1, int g2) {
  return within(space, {g3, g4, g1, g2}) ? v2_key(space, g3, g4, g1, g2) : no_key;
}

BlockIndex f1_blocks(const TileSpace& space) {
  BlockIndex index;
  for (int g6 = 0; g6 < space.size(); ++g6) {
    for (int g5 = 0; g5 < space.size(); ++g5) {
      if (block_exists(space, g6, g5))
        index.add({g6, g5, 0, 0}, f1_key(space, g6, g5), space[g6].size * space[g5].size);
    }
  }
  return index;
}

BlockIndex t1_blocks(const TileSpace& space) {
  BlockIndex index;
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      if (block_exists(space, p, h)) index.add({p, h, 0, 0}, t1_key(space, p, h), space[p].size * space[h].size);
    }
  }
  return index;
}

BlockIndex t2_blocks(const TileSpace& space) {
  BlockIndex index;
  for (int p1 = space.hole_tiles(); p1 < space.size(); ++p1) {
    for (int p2 = p1; p2 < space.size(); ++p2) {
      for (int h3 = 0; h3 < space.hole_tiles(); ++h3) {
        for (int h4 = h3; h4 < space.hole_tiles(); ++h4) {
          if (!block_exists(space, p1, p2, h3, h4)) continue;
          index.add({p1, p2, h3, h4}, t2_key(space, p1, p2, h3, h4),
                    space[p1].size * space[p2].size * space[h3].size * space[h4].size);
        }
      }
    }
  }
  return index;
}

SpatialTiles spatial_tiles(const TileSpace& space) {
  SpatialTiles spatial;
  const int noa = space.last(OrbitalClass::hole_alpha);
  const int virtual_alpha = space.first(OrbitalClass::particle_alpha);
  for (int t = 0; t < noa; ++t) spatial.alpha_tile.push_back(t);
  for (int t = virtual_alpha; t < space.last(OrbitalClass::particle_alpha); ++t) spatial.alpha_tile.push_back(t);

  spatial.spatial_tile.assign(static_cast<std::size_t>(space.size()), -1);
  const auto map = [&](int beta, int spatial_index) {
    const Tile& alpha = space[spatial.alpha_tile[static_cast<std::size_t>(spatial_index)]];
    if (alpha.size != space[beta].size || alpha.irrep != space[beta].irrep) {
      throw InputError(
          fmt::format("Beta tile {} has no alpha tile of the same spatial orbitals; orbital integral storage "
                      "(2eorb) is not possible with this tile table.",
                      beta + 1));
    }
    spatial.spatial_tile[static_cast<std::size_t>(beta)] = spatial_index;
  };
  for (int s = 0; s < spatial.size(); ++s)
    spatial.spatial_tile[static_cast<std::size_t>(spatial.alpha_tile[static_cast<std::size_t>(s)])] = s;

  // In each irrep the doubly occupied alpha tiles come first and match the beta holes. The other alpha holes are singly
  // occupied and match the first beta particles. Without open shells every beta tile matches its RHF partner.
  for (int irrep = 0; irrep < 8; ++irrep) {
    const auto of_class = [&](OrbitalClass c) {
      std::vector<int> tiles;
      for (int t = space.first(c); t < space.last(c); ++t) {
        if (space[t].irrep == irrep) tiles.push_back(t);
      }
      return tiles;
    };
    const std::vector<int> hole_alpha = of_class(OrbitalClass::hole_alpha);
    const std::vector<int> hole_beta = of_class(OrbitalClass::hole_beta);
    const std::vector<int> particle_alpha = of_class(OrbitalClass::particle_alpha);
    const std::vector<int> particle_beta = of_class(OrbitalClass::particle_beta);
    if (hole_beta.size() > hole_alpha.size() ||
        particle_beta.size() != particle_alpha.size() + hole_alpha.size() - hole_beta.size()) {
      throw InputError("The numbers of alpha and beta tiles do not fit orbital integral storage (2eorb).");
    }
    const std::size_t open = hole_alpha.size() - hole_beta.size();
    for (std::size_t k = 0; k < hole_beta.size(); ++k) map(hole_beta[k], hole_alpha[k]);
    for (std::size_t k = 0; k < particle_beta.size(); ++k) {
      map(particle_beta[k],
          k < open ? hole_alpha[hole_beta.size() + k] : noa + particle_alpha[k - open] - virtual_alpha);
    }
  }
  return spatial;
}

}
