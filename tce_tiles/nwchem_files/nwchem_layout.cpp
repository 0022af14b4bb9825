#include "tce_tiles/nwchem_files/nwchem_layout.hpp"

#include <algorithm>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Number of doubles in pairs of tiles: sums[sum of spins][irrep], with sum 2 for alpha alpha, 3 for mixed, 4 for beta
/// beta.
using PairSums = std::array<std::array<std::int64_t, 8>, 5>;

PairSums pair_sums(const TileSpace& space, int begin, int end) {
  PairSums sums{};
  for (int a = begin; a < end; ++a) {
    for (int b = a; b < end; ++b) {
      const Tile& x = space[a];
      const Tile& y = space[b];
      sums[static_cast<std::size_t>(spin_number(x.spin()) + spin_number(y.spin()))]
          [static_cast<std::size_t>(x.irrep ^ y.irrep)] += x.size * y.size;
    }
  }
  return sums;
}

std::int64_t quad_doubles(const TileSpace& space, const PairSums& upper, const PairSums& lower) {
  std::int64_t doubles = 0;
  for (std::size_t spin = 2; spin <= (space.restricted() ? 3u : 4u); ++spin) {
    for (std::size_t x = 0; x < 8; ++x) doubles += upper[spin][x] * lower[spin][x];
  }
  return doubles;
}

std::size_t kind_of(const Tile& a, const Tile& b) {
  return static_cast<std::size_t>((spin_number(a.spin()) + spin_number(b.spin())) * 8 + (a.irrep ^ b.irrep));
}

}

PairOffsets::PairOffsets(const TileSpace& space, int upper_begin, int lower_end)
    : upper_begin_(upper_begin), lower_count_(static_cast<std::size_t>(lower_end)) {
  offset_.assign(static_cast<std::size_t>(space.size() - upper_begin) * lower_count_, -1);
  std::int64_t doubles = 0;
  for (int u = upper_begin; u < space.size(); ++u) {
    for (int l = 0; l < lower_end; ++l) {
      if (!block_exists(space, u, l)) continue;
      offset_[static_cast<std::size_t>(u - upper_begin) * lower_count_ + static_cast<std::size_t>(l)] = doubles;
      doubles += space[u].size * space[l].size;
    }
  }
}

QuadOffsets::QuadOffsets(const TileSpace& space, int upper_begin, int lower_end) {
  for (const Tile& tile : space.tiles()) tile_size_.push_back(tile.size);

  // After this loop, `total` is the number of doubles in all lower pairs of a kind.
  std::array<std::int64_t, 40> total{};
  lower_.count = static_cast<std::size_t>(lower_end);
  lower_.value.assign(lower_.count * lower_.count, 0);
  for (int l1 = 0; l1 < lower_end; ++l1) {
    for (int l2 = l1; l2 < lower_end; ++l2) {
      std::int64_t& sum = total[kind_of(space[l1], space[l2])];
      lower_.value[lower_.at(l1, l2)] = sum;
      sum += space[l1].size * space[l2].size;
    }
  }
  upper_.begin = upper_begin;
  upper_.count = static_cast<std::size_t>(space.size() - upper_begin);
  upper_.value.assign(upper_.count * upper_.count, 0);
  std::int64_t doubles = 0;
  for (int u1 = upper_begin; u1 < space.size(); ++u1) {
    for (int u2 = u1; u2 < space.size(); ++u2) {
      upper_.value[upper_.at(u1, u2)] = doubles;
      const bool stored = !(space.restricted() && space[u1].spin() == Spin::beta && space[u2].spin() == Spin::beta);
      if (stored) doubles += space[u1].size * space[u2].size * total[kind_of(space[u1], space[u2])];
    }
  }
}

std::int64_t QuadOffsets::offset(int upper1, int upper2, int lower1, int lower2) const {
  const std::int64_t upper_size =
      tile_size_[static_cast<std::size_t>(upper1)] * tile_size_[static_cast<std::size_t>(upper2)];
  return upper_.value[upper_.at(upper1, upper2)] + upper_size * lower_.value[lower_.at(lower1, lower2)];
}

SpatialOffsets::SpatialOffsets(const TileSpace& space, const SpatialTiles& spatial) : count_(spatial.size()) {
  for (const int t : spatial.alpha_tile) {
    size_.push_back(space[t].size);
    irrep_.push_back(space[t].irrep);
  }
  const auto n = static_cast<std::size_t>(count_);
  for (std::size_t x = 0; x < 8; ++x) {
    tiles_before_[x].assign(n + 1, 0);
    for (std::size_t l = 0; l < n; ++l) {
      tiles_before_[x][l + 1] = tiles_before_[x][l] + (irrep_[l] == static_cast<int>(x) ? size_[l] : 0);
    }
  }
  for (std::size_t x = 0; x < 8; ++x) {
    below_[x].assign(n * n, 0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t l = 0; l + 1 < n; ++l) {
        // `row`: the pairs with first tile l and a second tile in [l, i) that give irrep x.
        const auto& tiles = tiles_before_[x ^ static_cast<std::size_t>(irrep_[l])];
        const std::int64_t row = l < i ? size_[l] * (tiles[i] - tiles[l]) : 0;
        below_[x][i * n + l + 1] = below_[x][i * n + l] + row;
      }
    }
  }
  start_.assign(n * n, 0);
  std::int64_t doubles = 0;
  for (int j = 0; j < count_; ++j) {
    for (int i = j; i < count_; ++i) {
      start_[at(j, i)] = doubles;
      const auto x = irrep_[static_cast<std::size_t>(i)] ^ irrep_[static_cast<std::size_t>(j)];
      // The ket pairs of this bra pair are all pairs up to and including {i, j} itself: those with both tiles below i,
      // and those with second tile i and a first tile up to j.
      doubles += size_[static_cast<std::size_t>(i)] * size_[static_cast<std::size_t>(j)] * before(j, i, i + 1, x);
    }
  }
}

std::int64_t SpatialOffsets::before(int j, int i, int l, int x) const {
  const auto xi = static_cast<std::size_t>(x);
  const auto ui = static_cast<std::size_t>(i);
  const auto& with_i = tiles_before_[xi ^ static_cast<std::size_t>(irrep_[ui])];
  // No pair has a first tile of at least i and a second tile below i.
  return below_[xi][at(i, std::min(l, i))] + size_[ui] * with_i[static_cast<std::size_t>(std::min(l, j + 1))];
}

std::int64_t SpatialOffsets::offset(int j, int i, int l, int k) const {
  const auto u = [](int t) { return static_cast<std::size_t>(t); };
  const int x = irrep_[u(i)] ^ irrep_[u(j)];
  // The bra pair combines with every pair {l, k'}, l <= k' < k, because k <= i.
  const auto& tiles = tiles_before_[u(x ^ irrep_[u(l)])];
  const std::int64_t ket = before(j, i, l, x) + size_[u(l)] * (tiles[u(k)] - tiles[u(l)]);
  return start_[at(j, i)] + size_[u(i)] * size_[u(j)] * ket;
}

NwchemSizes nwchem_sizes(const TileSpace& space) {
  NwchemSizes sizes;
  // Numbers of orbitals by spin and irrep: of holes and of particles.
  std::array<std::array<std::int64_t, 8>, 3> holes{};
  std::array<std::array<std::int64_t, 8>, 3> particles{};
  for (const Tile& tile : space.tiles()) {
    auto& sums = tile.space() == Space::hole ? holes : particles;
    sums[static_cast<std::size_t>(spin_number(tile.spin()))][static_cast<std::size_t>(tile.irrep)] += tile.size;
  }
  for (std::size_t spin = 1; spin <= (space.restricted() ? 1u : 2u); ++spin) {
    for (std::size_t x = 0; x < 8; ++x) {
      sizes.f1 += (holes[spin][x] + particles[spin][x]) * (holes[spin][x] + particles[spin][x]);
      sizes.t1 += particles[spin][x] * holes[spin][x];
    }
  }
  const PairSums hole_pairs = pair_sums(space, 0, space.hole_tiles());
  const PairSums particle_pairs = pair_sums(space, space.hole_tiles(), space.size());
  const PairSums all_pairs = pair_sums(space, 0, space.size());
  sizes.t2 = quad_doubles(space, particle_pairs, hole_pairs);
  sizes.v2_spin_orbital = quad_doubles(space, all_pairs, all_pairs);

  SpatialTiles spatial;
  try {
    spatial = spatial_tiles(space);
  } catch (const InputError&) {
    return sizes;
  }
  // Of all ordered pairs of pairs, the file holds those whose bra is not before the ket: half of the square, plus half
  // of its diagonal.
  std::array<std::int64_t, 8> pairs{};
  std::array<std::int64_t, 8> squares{};
  for (int i = 0; i < spatial.size(); ++i) {
    for (int j = 0; j <= i; ++j) {
      const Tile& a = space[spatial.alpha_tile[static_cast<std::size_t>(i)]];
      const Tile& b = space[spatial.alpha_tile[static_cast<std::size_t>(j)]];
      const auto x = static_cast<std::size_t>(a.irrep ^ b.irrep);
      pairs[x] += a.size * b.size;
      squares[x] += a.size * b.size * a.size * b.size;
    }
  }
  std::int64_t doubles = 0;
  for (std::size_t x = 0; x < 8; ++x) doubles += (pairs[x] * pairs[x] + squares[x]) / 2;
  sizes.v2_spatial = doubles;
  return sizes;
}

}
