#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tce_tiles/tiles/memory_source.hpp"
#include "tests/support/copied_sources.hpp"

/// Sources with the same wave function in other orbitals.
namespace trifuse::testing {

/// An orthogonal matrix [new orbital, old orbital], last index fastest.
struct Rotation {
  std::int64_t size = 0;
  std::vector<double> matrix;

  double operator()(std::int64_t new_orbital, std::int64_t old_orbital) const {
    return matrix[static_cast<std::size_t>(new_orbital * size + old_orbital)];
  }
};

inline Rotation unrotated(std::int64_t size) {
  Rotation rotation{size, std::vector<double>(static_cast<std::size_t>(size * size))};
  for (std::int64_t x = 0; x < size; ++x) rotation.matrix[static_cast<std::size_t>(x * size + x)] = 1.0;
  return rotation;
}

/// Rotates the orbitals p and q of a tile.
inline void turn(Rotation& rotation, std::int64_t p, std::int64_t q, double angle) {
  for (std::int64_t old = 0; old < rotation.size; ++old) {
    double& x = rotation.matrix[static_cast<std::size_t>(p * rotation.size + old)];
    double& y = rotation.matrix[static_cast<std::size_t>(q * rotation.size + old)];
    std::tie(x, y) = std::pair{std::cos(angle) * x + std::sin(angle) * y, std::cos(angle) * y - std::sin(angle) * x};
  }
}

/// Returns the tile space with one tile for each class and irrep. Rotations refer to these tiles.
inline TileSpace undivided(const TileSpace& space) {
  return space.retiled(1 << 20, 1 << 20);
}

/// Returns the identity for each tile of the undivided space.
inline std::vector<Rotation> no_rotations(const TileSpace& space) {
  const TileSpace whole = undivided(space);
  std::vector<Rotation> rotations;
  for (const Tile& tile : whole.tiles()) rotations.push_back(unrotated(tile.size));
  return rotations;
}

inline std::vector<Rotation> random_rotations(const TileSpace& space, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> angle(-std::numbers::pi, std::numbers::pi);
  const TileSpace whole = undivided(space);
  std::vector<Rotation> rotations = no_rotations(space);
  for (int t = 0; t < whole.size(); ++t) {
    Rotation& rotation = rotations[static_cast<std::size_t>(t)];
    if (whole[t].partner != t) {
      rotation = rotations[static_cast<std::size_t>(whole[t].partner)];
      continue;
    }
    for (std::int64_t q = 0; q < rotation.size; ++q)
      for (std::int64_t p = 0; p < q; ++p) turn(rotation, p, q, angle(random));
  }
  return rotations;
}

/// Returns rotations that flip the signs of about half of the orbitals.
inline std::vector<Rotation> random_phases(const TileSpace& space, unsigned seed) {
  std::mt19937 random(seed);
  const TileSpace whole = undivided(space);
  std::vector<Rotation> rotations = no_rotations(space);
  for (int t = 0; t < whole.size(); ++t) {
    Rotation& rotation = rotations[static_cast<std::size_t>(t)];
    if (whole[t].partner != t) rotation = rotations[static_cast<std::size_t>(whole[t].partner)];
    if (whole[t].partner != t) continue;
    for (std::int64_t x = 0; x < rotation.size; ++x) {
      if (random() % 2 == 0) rotation.matrix[static_cast<std::size_t>(x * rotation.size + x)] = -1.0;
    }
  }
  return rotations;
}

/// Applies a rotation to dimension `d` of a block whose last dimension is the fastest.
inline void rotate_dimension(std::vector<double>& block, std::span<const std::int64_t> extent, std::size_t d,
                             const Rotation& rotation) {
  std::int64_t inner = 1;
  for (std::size_t x = d + 1; x < extent.size(); ++x) inner *= extent[x];
  const std::int64_t n = extent[d];
  const auto outer = static_cast<std::int64_t>(block.size()) / (n * inner);
  std::vector<double> result(block.size());
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t to = 0; to < n; ++to)
      for (std::int64_t from = 0; from < n; ++from)
        for (std::int64_t x = 0; x < inner; ++x) {
          result[static_cast<std::size_t>((o * n + to) * inner + x)] +=
              rotation(to, from) * block[static_cast<std::size_t>((o * n + from) * inner + x)];
        }
  block = std::move(result);
}

/// Returns `source` in rotated orbitals. Orbital energies do not change unless `energies` are given; these also become
/// the diagonal of the Fock matrix.
inline std::unique_ptr<MemorySource> rotated_source(const TileSource& source, const std::vector<Rotation>& rotations,
                                                    std::vector<double> energies = {}) {
  const auto whole = copy_in_tiles(source, 1 << 20, 1 << 20);
  const TileSpace& space = whole->tiles();
  const bool new_energies = !energies.empty();
  if (!new_energies) energies.assign(source.orbital_energies().begin(), source.orbital_energies().end());
  auto result = std::make_unique<MemorySource>(space, std::move(energies), source.info(),
                                               MemorySource::Contents{source.has_integrals(), source.has_fock()});
  const auto rotated = [&](const Block& block, std::size_t dimensions, auto read) {
    std::vector<double> data(static_cast<std::size_t>(block.size));
    read(data);
    std::array<std::int64_t, 4> extent{};
    for (std::size_t d = 0; d < dimensions; ++d) extent[d] = space[block.tiles[d]].size;
    for (std::size_t d = 0; d < dimensions; ++d) {
      rotate_dimension(data, std::span(extent).first(dimensions), d,
                       rotations[static_cast<std::size_t>(block.tiles[d])]);
    }
    return data;
  };
  for (const Block& b : result->t1_index().blocks()) {
    const auto& t = b.tiles;
    result->set_t1(t[0], t[1], rotated(b, 2, [&](auto& data) { whole->read_t1(t[0], t[1], data); }));
  }
  for (const Block& b : result->t2_index().blocks()) {
    const auto& t = b.tiles;
    result->set_t2(t[0], t[1], t[2], t[3],
                   rotated(b, 4, [&](auto& data) { whole->read_t2(t[0], t[1], t[2], t[3], data); }));
  }
  if (source.has_integrals()) {
    for (const Block& b : result->v2_index().blocks()) {
      const auto& t = b.tiles;
      result->set_v2(t[0], t[1], t[2], t[3],
                     rotated(b, 4, [&](auto& data) { whole->read_v2(t[0], t[1], t[2], t[3], data); }));
    }
  }
  if (source.has_fock()) {
    for (const Block& b : result->fock_index().blocks()) {
      const auto& t = b.tiles;
      std::vector<double> fock = rotated(b, 2, [&](auto& data) { whole->read_fock(t[0], t[1], data); });
      if (new_energies && t[0] == t[1]) {
        const Tile& tile = space[t[0]];
        for (std::int64_t x = 0; x < tile.size; ++x) {
          fock[static_cast<std::size_t>(x * (tile.size + 1))] =
              result->orbital_energies()[static_cast<std::size_t>(tile.offset + x)];
        }
      }
      result->set_fock(t[0], t[1], fock);
    }
  }
  return result;
}

}
