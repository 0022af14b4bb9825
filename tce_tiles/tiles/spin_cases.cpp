#include "tce_tiles/tiles/spin_cases.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trifuse {

int SpinCases::with_spin(int tile, Spin spin) const {
  if (space_[tile].spin() == spin) return tile;
  if (spin == Spin::alpha) return space_[tile].partner;
  const OrbitalClass c = space_[tile].orbital_class;
  const auto of_beta = static_cast<OrbitalClass>(static_cast<int>(c) + 1);
  return tile - space_.first(c) + space_.first(of_beta);
}

std::span<const double> SpinCases::read(const Quad& tiles, Buffer& buffer) const {
  const Quad opposite = {with_spin(tiles[0], Spin::alpha), with_spin(tiles[1], Spin::beta),
                         with_spin(tiles[2], Spin::alpha), with_spin(tiles[3], Spin::beta)};
  std::int64_t size = 1;
  for (const int tile : opposite) size *= space_[tile].size;
  buffer.reserve(static_cast<std::size_t>(size));
  const std::span<double> block = buffer.span().first(static_cast<std::size_t>(size));
  source_.read_block(tensor_, opposite, block);
  return block;
}

double SpinCases::violation(const Quad& tiles, std::span<const double> block) {
  const bool equal_spins = alpha(tiles[0]) == alpha(tiles[1]), exchange = alpha(tiles[0]) != alpha(tiles[2]);
  const bool opposite = !equal_spins && !exchange;
  const bool swap_upper = opposite || !same_space(tiles[2], tiles[3]), swap_lower = opposite || !swap_upper;
  Quad other = tiles;
  if (swap_upper) std::swap(other[0], other[1]);
  if (swap_lower) std::swap(other[2], other[3]);
  if (opposite) {
    // In {h p|h h} and {p p|h p} only one block has these orbitals and spins, so there is nothing to compare.
    if (!same_space(tiles[0], tiles[1]) || !same_space(tiles[2], tiles[3])) return 0.0;
    for (std::size_t k = 0; k < 4; ++k) other[k] = with_spin(other[k], space_[tiles[k]].spin());
    if (other < tiles) return 0.0;
  }
  const std::span<const double> direct = equal_spins ? read(tiles, direct_) : std::span<const double>{};
  const std::span<const double> exchanged = read(other, exchanged_);
  const double sign = opposite ? 1.0 : -1.0;
  const Extents n = {space_[tiles[0]].size, space_[tiles[1]].size, space_[tiles[2]].size, space_[tiles[3]].size};
  Extents stride{};  // strides in `exchanged`, by axis of the block
  std::int64_t step = 1;
  for (std::size_t k = 4; k-- > 0;) {
    const std::size_t axis = (k < 2 ? swap_upper : swap_lower) ? k ^ 1U : k;
    stride[axis] = step;
    step *= n[axis];
  }
  double largest = 0.0;
  std::size_t at = 0;
  for (std::int64_t p = 0; p < n[0]; ++p) {
    for (std::int64_t q = 0; q < n[1]; ++q) {
      for (std::int64_t r = 0; r < n[2]; ++r) {
        const double* line = exchanged.data() + p * stride[0] + q * stride[1] + r * stride[2];
        for (std::int64_t s = 0; s < n[3]; ++s, ++at) {
          const double made = (equal_spins ? direct[at] : 0.0) + sign * line[s * stride[3]];
          largest = std::max(largest, std::abs(block[at] - made));
        }
      }
    }
  }
  return largest;
}

}
