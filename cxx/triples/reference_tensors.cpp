#include "cxx/triples/reference_tensors.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "tce_tiles/tiles/blocks.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

namespace {

using Read4 = void (TileSource::*)(int, int, int, int, std::span<double>) const;

/// Expands the stored blocks of a source to dense tensors.
class Expander {
 public:
  explicit Expander(const TileSource& source) : source_(source), space_(source.tiles()) {
    flipped_.resize(static_cast<std::size_t>(space_.orbitals()), -1);
    if (!space_.restricted()) return;
    for (int t = 0; t < space_.size(); ++t) {
      const Tile& beta = space_[t];
      if (beta.spin() != Spin::beta) continue;
      for (std::int64_t x = 0; x < beta.size; ++x) {
        flipped_[static_cast<std::size_t>(space_[beta.partner].offset + x)] = beta.offset + x;
      }
    }
  }

  void two_index(void (TileSource::*read)(int, int, std::span<double>) const, const BlockIndex& index,
                 std::vector<double>& dense) const {
    const std::int64_t n = space_.orbitals();
    dense.assign(static_cast<std::size_t>(n * n), 0.0);
    for (const Block& block : index.blocks()) {
      std::vector<double> data(static_cast<std::size_t>(block.size));
      (source_.*read)(block.tiles[0], block.tiles[1], data);
      const Tile& u = space_[block.tiles[0]];
      const Tile& l = space_[block.tiles[1]];
      for (std::int64_t x = 0, at = 0; x < u.size; ++x) {
        for (std::int64_t y = 0; y < l.size; ++y, ++at) {
          const double value = data[static_cast<std::size_t>(at)];
          dense[static_cast<std::size_t>((u.offset + x) * n + l.offset + y)] = value;
          const std::int64_t beta_u = flipped_[static_cast<std::size_t>(u.offset + x)];
          const std::int64_t beta_l = flipped_[static_cast<std::size_t>(l.offset + y)];
          if (beta_u >= 0 && beta_l >= 0) dense[static_cast<std::size_t>(beta_u * n + beta_l)] = value;
        }
      }
    }
  }

  /// Reads every block whose tiles lie in the given index spaces. `bra`, `ket`: true if the tensor is antisymmetric in
  /// the first or in the second pair of indices.
  void four_index(Read4 read, std::array<Space, 4> spaces, bool bra, bool ket, Dense4& dense) const {
    std::array<std::int64_t, 4> origin{}, extent{};
    const std::int64_t holes = space_.orbitals(OrbitalClass::hole_alpha) + space_.orbitals(OrbitalClass::hole_beta);
    for (std::size_t d = 0; d < 4; ++d) {
      origin[d] = spaces[d] == Space::hole ? 0 : holes;
      extent[d] = spaces[d] == Space::hole ? holes : space_.orbitals() - holes;
    }
    dense = Dense4(origin, extent);
    const auto tiles_of = [&](std::size_t d) {
      return spaces[d] == Space::hole ? std::pair{0, space_.hole_tiles()}
                                      : std::pair{space_.hole_tiles(), space_.size()};
    };
    for (int u1 = tiles_of(0).first; u1 < tiles_of(0).second; ++u1) {
      for (int u2 = std::max(u1, tiles_of(1).first); u2 < tiles_of(1).second; ++u2) {
        for (int l1 = tiles_of(2).first; l1 < tiles_of(2).second; ++l1) {
          for (int l2 = std::max(l1, tiles_of(3).first); l2 < tiles_of(3).second; ++l2) {
            if (block_exists(space_, u1, u2, l1, l2)) block(read, {u1, u2, l1, l2}, bra, ket, dense);
          }
        }
      }
    }
  }

 private:
  void block(Read4 read, std::array<int, 4> tiles, bool bra, bool ket, Dense4& dense) const {
    const Tile& t0 = space_[tiles[0]];
    const Tile& t1 = space_[tiles[1]];
    const Tile& t2 = space_[tiles[2]];
    const Tile& t3 = space_[tiles[3]];
    std::vector<double> data(static_cast<std::size_t>(t0.size * t1.size * t2.size * t3.size));
    (source_.*read)(tiles[0], tiles[1], tiles[2], tiles[3], data);
    std::size_t at = 0;
    for (std::int64_t w = t0.offset; w < t0.offset + t0.size; ++w) {
      for (std::int64_t x = t1.offset; x < t1.offset + t1.size; ++x) {
        for (std::int64_t y = t2.offset; y < t2.offset + t2.size; ++y) {
          for (std::int64_t z = t3.offset; z < t3.offset + t3.size; ++z) {
            const double value = data[at++];
            images(w, x, y, z, value, bra, ket, dense);
            const std::array<std::int64_t, 4> beta = {flip(w), flip(x), flip(y), flip(z)};
            if (std::all_of(beta.begin(), beta.end(), [](std::int64_t o) { return o >= 0; })) {
              images(beta[0], beta[1], beta[2], beta[3], value, bra, ket, dense);
            }
          }
        }
      }
    }
  }
  static void images(std::int64_t w, std::int64_t x, std::int64_t y, std::int64_t z, double value, bool bra, bool ket,
                     Dense4& dense) {
    dense(w, x, y, z) = value;
    if (bra) dense(x, w, y, z) = -value;
    if (ket) dense(w, x, z, y) = -value;
    if (bra && ket) dense(x, w, z, y) = value;
  }
  std::int64_t flip(std::int64_t orbital) const { return flipped_[static_cast<std::size_t>(orbital)]; }

  const TileSource& source_;
  const TileSpace& space_;
  std::vector<std::int64_t> flipped_;  ///< [alpha orbital]: beta orbital of the same spatial orbital, or -1
};

}

ReferenceTensors expand_amplitudes(const TileSource& amplitudes) {
  constexpr Space h = Space::hole, p = Space::particle;
  const TileSpace& space = amplitudes.tiles();
  ReferenceTensors x;
  x.orbitals = space.orbitals();
  x.holes = space.orbitals(OrbitalClass::hole_alpha) + space.orbitals(OrbitalClass::hole_beta);
  const Expander from_amplitudes(amplitudes);
  from_amplitudes.two_index(&TileSource::read_t1, t1_blocks(space), x.t1);
  from_amplitudes.four_index(&TileSource::read_t2, {p, p, h, h}, true, true, x.t2);
  return x;
}

ReferenceTensors expand(const OperandSet& operands, bool with_fock) {
  constexpr Space h = Space::hole, p = Space::particle;
  const TileSource& integrals = *operands.integrals;
  ReferenceTensors x = expand_amplitudes(*operands.amplitudes);
  const Expander from_integrals(integrals);
  from_integrals.four_index(&TileSource::read_v2, {p, p, h, h}, true, true, x.vvoo);
  from_integrals.four_index(&TileSource::read_v2, {h, p, h, h}, false, true, x.ovoo);
  from_integrals.four_index(&TileSource::read_v2, {p, p, h, p}, true, false, x.vvov);
  if (with_fock) from_integrals.two_index(&TileSource::read_fock, f1_blocks(integrals.tiles()), x.fock);
  return x;
}

}
