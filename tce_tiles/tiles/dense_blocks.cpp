#include "tce_tiles/tiles/dense_blocks.hpp"

#include <algorithm>
#include <cstddef>

#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse {

std::vector<double> dense_t1(const TileSource& source, Spin spin) {
  const TileSpace& space = source.tiles();
  const OrbitalClass holes = hole_class(spin), particles = particle_class(spin);
  const std::int64_t row = space.orbitals(particles);
  std::vector<double> t1(static_cast<std::size_t>(space.orbitals(holes) * row), 0.0), block;
  for (int p = space.first(particles); p < space.last(particles); ++p) {
    for (int h = space.first(holes); h < space.last(holes); ++h) {
      if (!block_exists(space, p, h)) continue;
      block.resize(static_cast<std::size_t>(space[p].size * space[h].size));
      source.read_t1(p, h, block);
      double* const to = t1.data() + space.offset_in_class(h) * row + space.offset_in_class(p);
      const double* from = block.data();
      for (std::int64_t a = 0; a < space[p].size; ++a) {
        for (std::int64_t i = 0; i < space[h].size; ++i) to[i * row + a] = *from++;
      }
    }
  }
  return t1;
}

std::vector<double> dense_fock(const TileSource& source, Spin spin) {
  const TileSpace& space = source.tiles();
  const std::int64_t holes = space.orbitals(hole_class(spin)), n = holes + space.orbitals(particle_class(spin));
  const auto position = [&](int g) {
    return space.offset_in_class(g) + (space[g].space() == Space::particle ? holes : 0);
  };
  std::vector<double> fock(static_cast<std::size_t>(n * n), 0.0), block;
  for (int g6 = 0; g6 < space.size(); ++g6) {
    for (int g5 = 0; g5 < space.size(); ++g5) {
      if (space[g6].spin() != spin || !block_exists(space, g6, g5)) continue;
      block.resize(static_cast<std::size_t>(space[g6].size * space[g5].size));
      source.read_fock(g6, g5, block);
      for (std::int64_t k = 0; k < space[g6].size; ++k) {
        std::copy_n(block.data() + k * space[g5].size, space[g5].size,
                    fock.data() + (position(g6) + k) * n + position(g5));
      }
    }
  }
  return fock;
}

void scatter_block(const double* block, const std::array<std::int64_t, 4>& extent, double sign,
                   const std::array<std::int64_t, 4>& stride, double* to) {
  for (std::int64_t w = 0; w < extent[0]; ++w) {
    for (std::int64_t x = 0; x < extent[1]; ++x) {
      for (std::int64_t y = 0; y < extent[2]; ++y) {
        double* const row = to + w * stride[0] + x * stride[1] + y * stride[2];
        for (std::int64_t z = 0; z < extent[3]; ++z) row[z * stride[3]] = sign * *block++;
      }
    }
  }
}

}
