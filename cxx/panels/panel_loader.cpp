#include "cxx/panels/panel_loader.hpp"

#include <algorithm>

namespace trifuse {

namespace {

using Strides = std::array<std::int64_t, 4>;

Strides strides_of(const std::array<std::int64_t, 4>& size) {
  return {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1};
}

/// The orders in which a block's indices may be read when its bra, its ket or both are interchanged.
struct Image {
  std::array<int, 4> order;
  double sign;
};
std::vector<Image> images(bool bra, bool ket) {
  std::vector<Image> all = {{{0, 1, 2, 3}, +1.0}};
  if (bra) all.push_back({{1, 0, 2, 3}, -1.0});
  if (ket) all.push_back({{0, 1, 3, 2}, -1.0});
  if (bra && ket) all.push_back({{1, 0, 3, 2}, +1.0});
  return all;
}

}  // namespace

std::vector<PanelLoader::Segment> PanelLoader::segments(std::int64_t offset, std::int64_t size) const {
  const auto tiles = store_.tiles_.tiles();
  auto tile = std::upper_bound(tiles.begin(), tiles.end(), offset,
                               [](std::int64_t orbital, const Tile& t) { return orbital < t.offset; }) -
              1;
  std::vector<Segment> found;
  for (std::int64_t at = offset; at < offset + size; ++tile) {
    const std::int64_t end = std::min(offset + size, tile->offset + tile->size);
    found.push_back({static_cast<int>(tile - tiles.begin()), at - tile->offset, at - offset, end - at});
    at = end;
  }
  return found;
}

template <typename Read, typename Use>
void PanelLoader::for_each_block(const TileSource& source, std::array<Space, 4> spaces, std::array<int, 4> loop_order,
                                 Read read, Use use) {
  const TileSpace& space = source.tiles();
  const bool adapted = store_.form_ == Form::spin_adapted;
  // The spin-adapted form is built from the blocks whose pairs are both alpha beta.
  const auto candidate = [&](int dimension, int tile) {
    return !adapted || space[tile].spin() == (dimension % 2 == 0 ? Spin::alpha : Spin::beta);
  };
  const auto range = [&](int dimension) {
    return spaces[static_cast<std::size_t>(dimension)] == Space::hole ? std::pair{0, space.hole_tiles()}
                                                                      : std::pair{space.hole_tiles(), space.size()};
  };
  Buffer buffer;
  std::array<int, 4> t{};
  const auto visit = [&] {
    if (t[0] > t[1] || t[2] > t[3] || !block_exists(space, t[0], t[1], t[2], t[3])) return;
    BlockData block;
    for (std::size_t d = 0; d < 4; ++d) {
      block.size[d] = space[t[d]].size;
      block.offset[d] = adapted ? space[space[t[d]].partner].offset : space[t[d]].offset;
    }
    block.tiles = t;
    const auto count = static_cast<std::size_t>(block.size[0] * block.size[1] * block.size[2] * block.size[3]);
    buffer.reserve(count);
    read(t, std::span(buffer.data(), count));
    block.data = buffer.data();
    use(block);
  };
  const auto loop = [&](auto&& self, std::size_t depth) -> void {
    if (depth == 4) {
      visit();
      return;
    }
    const int dimension = loop_order[depth];
    const auto [begin, end] = range(dimension);
    for (int tile = begin; tile < end; ++tile) {
      if (!candidate(dimension, tile)) continue;
      t[static_cast<std::size_t>(dimension)] = tile;
      self(self, depth + 1);
    }
  };
  loop(loop, 0);
}

void PanelLoader::place_image(const BlockData& block, const std::array<int, 4>& order, double sign,
                              const Placement& placement, PanelStore::Shelf& shelf, Side side) {
  const Strides stride = strides_of(block.size);
  const auto dimension = [&](int d) { return static_cast<std::size_t>(order[static_cast<std::size_t>(d)]); };
  std::array<std::vector<Segment>, 3> cut;
  std::array<std::int64_t, 3> from{};
  for (std::size_t r = 0; r < 3; ++r) {
    const std::size_t d = dimension(placement.rows[r]);
    cut[r] = segments(block.offset[d], block.size[d]);
    from[r] = stride[d];
  }
  const std::size_t inner = dimension(placement.inner);
  const TileSpace& space = store_.tiles_;
  const bool left = placement.kind == PanelStore::Kind::left;
  const Tile& inner_tile = space[segments(block.offset[inner], 1)[0].tile];
  const std::int64_t inner_begin = block.offset[inner] - space.range(inner_tile.orbital_class, inner_tile.irrep).offset;
  for (const Segment& s0 : cut[0]) {
    for (const Segment& s1 : cut[1]) {
      for (const Segment& s2 : cut[2]) {
        const PanelTiles tiles{s0.tile, s1.tile, s2.tile};
        const auto found = shelf.offset.find(store_.key(tiles));
        if (found == shelf.offset.end()) continue;  // not the canonical order of the pair, or of no use
        const PanelStore::Layout row = store_.layout(placement.kind, tiles, side);
        // Rows of a left panel stand as [p, h', h], those of a right panel as [p', p, h].
        const std::int64_t n0 = space[s0.tile].size, n1 = space[s1.tile].size, n2 = space[s2.tile].size;
        const std::array<std::int64_t, 3> to =
            left ? std::array<std::int64_t, 3>{1, n0 * n2, n0} : std::array<std::int64_t, 3>{n1, 1, n0 * n1};
        const std::int64_t part = placement.part == Part::particles ? row.particle_part : row.hole_part;
        double* panel = shelf.data.data() + found->second + part + inner_begin;
        for (std::int64_t x = 0; x < s0.size; ++x) {
          for (std::int64_t y = 0; y < s1.size; ++y) {
            for (std::int64_t z = 0; z < s2.size; ++z) {
              const double* source =
                  block.data + (s0.in_block + x) * from[0] + (s1.in_block + y) * from[1] + (s2.in_block + z) * from[2];
              double* target =
                  panel + ((s0.in_tile + x) * to[0] + (s1.in_tile + y) * to[1] + (s2.in_tile + z) * to[2]) * row.stride;
              const std::int64_t step = stride[inner];
              for (std::int64_t q = 0; q < block.size[inner]; ++q) target[q] = sign * source[q * step];
            }
          }
        }
      }
    }
  }
}

void PanelLoader::place(const BlockData& block, const Placement& placement, PanelStore::Shelf& shelf, Side side) {
  // A diagonal tile pair is stored as a full square and holds its images itself.
  const bool bra = placement.bra_images && block.tiles[0] != block.tiles[1];
  const bool ket = placement.ket_images && block.tiles[2] != block.tiles[3];
  for (const Image& image : images(bra, ket)) {
    place_image(block, image.order, placement.sign * image.sign, placement, shelf, side);
  }
}

void PanelLoader::load_amplitudes(const TileSource& source, Side side) {
  using enum PanelStore::Kind;
  const bool adapted = store_.form_ == Form::spin_adapted;
  // t2 {p1 p2 h3 h4}. Spin-adapted: t_kj^cd and t_li^ba with (p1, h3) and (p2, h4) the alpha and the beta electron.
  const Placement to_left = adapted ? Placement{left, {0, 2, 3}, 1, Part::particles, 1.0, false, false}
                                    : Placement{left, {0, 2, 3}, 1, Part::particles, 1.0, true, true};
  const Placement to_right = adapted ? Placement{right, {0, 1, 3}, 2, Part::holes, 1.0, false, false}
                                     : Placement{right, {0, 1, 2}, 3, Part::holes, 1.0, true, true};
  PanelStore::Shelf& left_shelf = side == Side::left ? store_.left_of_left_side_ : store_.left_;
  constexpr Space h = Space::hole, p = Space::particle;
  for_each_block(
      source, {p, p, h, h}, {0, 1, 2, 3},
      [&](const std::array<int, 4>& t, std::span<double> block) { source.read_t2(t[0], t[1], t[2], t[3], block); },
      [&](const BlockData& block) {
        place(block, to_left, left_shelf, side);
        place(block, to_right, store_.right_, side);
      });
}

void PanelLoader::load_integrals(const TileSource& source) {
  using enum PanelStore::Kind;
  const bool adapted = store_.form_ == Form::spin_adapted;
  constexpr Space h = Space::hole, p = Space::particle;
  const auto read = [&](const std::array<int, 4>& t, std::span<double> block) {
    source.read_v2(t[0], t[1], t[2], t[3], block);
  };
  // v2 {p5 p6 h3 p7} = (p5 h3|p6 p7) in the spin-adapted form, where it is (bd|ai).
  const Placement vvov = adapted ? Placement{right, {1, 0, 2}, 3, Part::particles, 1.0, false, false}
                                 : Placement{right, {0, 1, 2}, 3, Part::particles, 1.0, true, false};
  for_each_block(source, {p, p, h, p}, {2, 0, 1, 3}, read,
                 [&](const BlockData& block) { place(block, vvov, store_.right_, Side::right); });
  // v2 {h7 p6 h2 h3} = (h7 h2|p6 h3) in the spin-adapted form, where it is (ck|jl).
  const Placement ovoo = adapted ? Placement{left, {1, 3, 2}, 0, Part::holes, -1.0, false, false}
                                 : Placement{left, {1, 2, 3}, 0, Part::holes, 1.0, false, true};
  for_each_block(source, {h, p, h, h}, {0, 1, 2, 3}, read, [&](const BlockData& block) {
    place(block, ovoo, store_.left_, Side::right);
    if (store_.two_sided_) place(block, ovoo, store_.left_of_left_side_, Side::left);
  });
}

void PanelLoader::place_pairs(const BlockData& block, PanelStore::Disconnected& factors) {
  const bool antisymmetric = store_.form_ == Form::spin_orbital;
  const Strides stride = strides_of(block.size);
  const TileSpace& space = store_.tiles_;
  for (const Image& image :
       images(antisymmetric && block.tiles[0] != block.tiles[1], antisymmetric && block.tiles[2] != block.tiles[3])) {
    std::array<std::vector<Segment>, 4> cut;
    std::array<std::int64_t, 4> from{};
    for (std::size_t d = 0; d < 4; ++d) {
      const auto dimension = static_cast<std::size_t>(image.order[d]);
      cut[d] = segments(block.offset[dimension], block.size[dimension]);
      from[d] = stride[dimension];
    }
    for (const Segment& p1 : cut[0]) {
      for (const Segment& p2 : cut[1]) {
        for (const Segment& h1 : cut[2]) {
          for (const Segment& h2 : cut[3]) {
            const auto found = factors.offset.find(store_.pair_key(p1.tile, p2.tile, h1.tile, h2.tile));
            if (found == factors.offset.end()) continue;
            double* pairs = factors.pairs.data() + found->second;
            const std::int64_t np1 = space[p1.tile].size, np2 = space[p2.tile].size, nh2 = space[h2.tile].size;
            for (std::int64_t w = 0; w < p1.size; ++w) {
              for (std::int64_t x = 0; x < p2.size; ++x) {
                for (std::int64_t y = 0; y < h1.size; ++y) {
                  for (std::int64_t z = 0; z < h2.size; ++z) {
                    pairs[(p2.in_tile + x) +
                          np2 * ((p1.in_tile + w) + np1 * ((h2.in_tile + z) + nh2 * (h1.in_tile + y)))] =
                        image.sign * block.data[(p1.in_block + w) * from[0] + (p2.in_block + x) * from[1] +
                                                (h1.in_block + y) * from[2] + (h2.in_block + z) * from[3]];
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

void PanelLoader::load_lone(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                            std::vector<double>& lone) {
  const TileSpace& space = source.tiles();
  std::vector<double> block;
  const auto n = static_cast<std::size_t>(space.orbitals());
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      if (space[p].spin() != space[h].spin() || space[p].irrep != space[h].irrep) continue;
      const int stored_p = space[p].partner, stored_h = space[h].partner;  // restricted: beta is read as alpha
      block.resize(static_cast<std::size_t>(space[p].size * space[h].size));
      (source.*read)(stored_p, stored_h, block);
      for (std::size_t x = 0; x < static_cast<std::size_t>(space[p].size); ++x) {
        for (std::size_t y = 0; y < static_cast<std::size_t>(space[h].size); ++y) {
          lone[(static_cast<std::size_t>(space[h].offset) + y) * n + static_cast<std::size_t>(space[p].offset) + x] =
              block[x * static_cast<std::size_t>(space[h].size) + y];
        }
      }
    }
  }
}

void PanelLoader::load_disconnected(const Problem& problem) {
  constexpr Space h = Space::hole, p = Space::particle;
  const TileSource& left = problem.left_source();
  load_lone(left, &TileSource::read_t1, store_.disconnected_[0].lone);
  for_each_block(
      *problem.right, {p, p, h, h}, {0, 1, 2, 3},
      [&](const std::array<int, 4>& t, std::span<double> block) {
        problem.right->read_v2(t[0], t[1], t[2], t[3], block);
      },
      [&](const BlockData& block) { place_pairs(block, store_.disconnected_[0]); });
  if (!problem.fock_in_singles) return;
  load_lone(*problem.right, &TileSource::read_fock, store_.disconnected_[1].lone);
  for_each_block(
      left, {p, p, h, h}, {0, 1, 2, 3},
      [&](const std::array<int, 4>& t, std::span<double> block) { left.read_t2(t[0], t[1], t[2], t[3], block); },
      [&](const BlockData& block) { place_pairs(block, store_.disconnected_[1]); });
}

void PanelLoader::load(const Problem& problem) {
  load_amplitudes(*problem.right, Side::right);
  if (problem.two_sided()) load_amplitudes(*problem.left, Side::left);
  load_integrals(*problem.right);
  load_disconnected(problem);
}

}  // namespace trifuse
