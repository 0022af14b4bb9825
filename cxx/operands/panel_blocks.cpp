#include "cxx/operands/panel_blocks.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/base/copy_box.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"

namespace trifuse {

namespace {

/// An antisymmetric image of a block: which of its bra and ket indices are interchanged, and the sign of the image.
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

/// Returns the number of elements of a block.
std::int64_t doubles_of(const TileSpace& space, const PanelBlocks::BlockTiles& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size * space[tiles[3]].size;
}

}

std::vector<PanelBlocks::Segment> PanelBlocks::segments(std::int64_t offset, std::int64_t size) const {
  const auto tiles = layout_.tiles().tiles();
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

PanelBlocks::BlockShape PanelBlocks::shape_of(const TileSpace& space, const BlockTiles& tiles) const {
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  BlockShape block{{}, {}, tiles};
  for (std::size_t d = 0; d < 4; ++d) {
    const Tile& tile = space[tiles[d]];
    block.size[d] = tile.size;
    block.offset[d] = adapted ? space[tile.partner].offset : tile.offset;
  }
  return block;
}

std::vector<PanelBlocks::BlockTiles> PanelBlocks::list(const Use& use, const TileSpace& space,
                                                       const std::function<bool(const BlockShape&)>& wanted) const {
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  // The spin-adapted formulation needs only the blocks with the spins alpha beta in both pairs.
  const auto candidate = [&](int dimension, int tile) {
    return !adapted || space[tile].spin() == (dimension % 2 == 0 ? Spin::alpha : Spin::beta);
  };
  const auto range = [&](int dimension) {
    return use.spaces[static_cast<std::size_t>(dimension)] == Space::hole ? std::pair{0, space.hole_tiles()}
                                                                          : std::pair{space.hole_tiles(), space.size()};
  };
  std::vector<BlockTiles> blocks;
  BlockTiles t{};
  const auto loop = [&](auto&& self, std::size_t depth) -> void {
    if (depth == 4) {
      if (t[0] > t[1] || t[2] > t[3] || !block_exists(space, t[0], t[1], t[2], t[3])) return;
      if (!wanted || wanted(shape_of(space, t))) blocks.push_back(t);
      return;
    }
    const int dimension = use.loop_order[depth];
    const auto [begin, end] = range(dimension);
    for (int tile = begin; tile < end; ++tile) {
      if (!candidate(dimension, tile)) continue;
      t[static_cast<std::size_t>(dimension)] = tile;
      self(self, depth + 1);
    }
  };
  loop(loop, 0);
  return blocks;
}

void PanelBlocks::read(const Use& use, std::span<const BlockTiles> blocks, std::int64_t max_buffered,
                       const std::function<void(std::size_t n, std::span<const double> elements)>& take) const {
  const TileSource& source = *use.source;
  const TileSpace& space = source.tiles();
  // One thread reads all blocks that differ only in the innermost tile. In a dump file they have the same rows.
  const bool concurrent = source.concurrent_reads();
  const auto same_group = [&](const BlockTiles& x, const BlockTiles& y) {
    return concurrent && std::all_of(use.loop_order.begin(), use.loop_order.end() - 1, [&](int dimension) {
             return x[static_cast<std::size_t>(dimension)] == y[static_cast<std::size_t>(dimension)];
           });
  };
  std::vector<std::size_t> groups;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    if (n == 0 || !same_group(blocks[n - 1], blocks[n])) groups.push_back(n);
  }
  const std::size_t group_count = groups.size();
  groups.push_back(blocks.size());
  std::int64_t largest = 1;
  for (const BlockTiles& tiles : blocks) largest = std::max(largest, doubles_of(space, tiles));
  const std::int64_t useful = std::min(static_cast<std::int64_t>(group_count), max_buffered / largest);
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(useful, 1, available_threads()));
  // Without concurrent reads the blocks are read one after the other, in the order of the list.
  share_with_lock<Buffer>(group_count, threads, !concurrent,
                          [&](std::size_t group, Buffer& buffer, std::unique_lock<std::mutex>& lock) {
                            for (std::size_t n = groups[group]; n < groups[group + 1]; ++n) {
                              const auto count = static_cast<std::size_t>(doubles_of(space, blocks[n]));
                              buffer.reserve(count);
                              const std::span<double> elements(buffer.data(), count);
                              source.read_block(use.tensor, blocks[n], elements);
                              if (lock.owns_lock()) lock.unlock();
                              take(n, elements);
                            }
                          });
}

void PanelBlocks::for_each_piece(const BlockShape& block, const Use& use,
                                 const std::function<void(const Piece&)>& visit) const {
  for (const IndexMap& map : use.maps) {
    // A block with two equal tiles in a pair is stored completely, with its images.
    const bool bra = map.bra_images && block.tiles[0] != block.tiles[1];
    const bool ket = map.ket_images && block.tiles[2] != block.tiles[3];
    for (const Image& image : images(bra, ket)) {
      if (map.kind == PanelKind::vvoo) {
        pieces_of_vvoo(block, image.order, map.sign * image.sign, map.set, visit);
        continue;
      }
      for (const Side side : use.sides) pieces_of_image(block, image.order, map.sign * image.sign, map, side, visit);
    }
  }
}

void PanelBlocks::pieces_of_image(const BlockShape& block, const std::array<int, 4>& order, double sign,
                                  const IndexMap& map, Side side,
                                  const std::function<void(const Piece&)>& visit) const {
  const std::array<std::int64_t, 4> stride = strides_of(block.size);
  const auto dimension = [&](int d) { return static_cast<std::size_t>(order[static_cast<std::size_t>(d)]); };
  std::array<std::vector<Segment>, 3> parts;
  std::array<std::int64_t, 3> from{};
  for (std::size_t r = 0; r < 3; ++r) {
    const std::size_t d = dimension(map.rows[r]);
    parts[r] = segments(block.offset[d], block.size[d]);
    from[r] = stride[d];
  }
  const std::size_t contracted = dimension(map.contracted);
  const TileSpace& space = layout_.tiles();
  const bool left = map.kind == PanelKind::left;
  const Tile& contracted_tile = space[segments(block.offset[contracted], 1)[0].tile];
  const std::int64_t contracted_begin =
      block.offset[contracted] - space.range(contracted_tile.orbital_class, contracted_tile.irrep).offset;
  for (const Segment& s0 : parts[0]) {
    for (const Segment& s1 : parts[1]) {
      for (const Segment& s2 : parts[2]) {
        const PanelTiles tiles{s0.tile, s1.tile, s2.tile};
        const PanelKey key = left ? PanelKey::left(tiles, side) : PanelKey::right(tiles, side);
        const PanelExtent* at = layout_.find(key);
        if (at == nullptr) continue;  // there is no panel for this order of the pair, or no task reads it
        const PanelRows row = layout_.stored_rows(key);
        // The rows of a left panel are in the order [h, h', p], the rows of a right panel in the order [h, p, p'].
        const std::int64_t n0 = space[s0.tile].size, n1 = space[s1.tile].size, n2 = space[s2.tile].size;
        const std::array<std::int64_t, 3> to =
            left ? std::array<std::int64_t, 3>{1, n0 * n2, n0} : std::array<std::int64_t, 3>{n1, 1, n0 * n1};
        const std::int64_t part = map.part == Part::particles ? row.particle_part : row.hole_part;
        visit({*at,
               part + contracted_begin + (s0.in_tile * to[0] + s1.in_tile * to[1] + s2.in_tile * to[2]) * row.stride,
               s0.in_block * from[0] + s1.in_block * from[1] + s2.in_block * from[2],
               {s0.size, s1.size, s2.size, block.size[contracted]},
               {from[0], from[1], from[2], stride[contracted]},
               {to[0] * row.stride, to[1] * row.stride, to[2] * row.stride, 1},
               sign});
      }
    }
  }
}

void PanelBlocks::pieces_of_vvoo(const BlockShape& block, const std::array<int, 4>& order, double sign, std::size_t set,
                                 const std::function<void(const Piece&)>& visit) const {
  const std::array<std::int64_t, 4> stride = strides_of(block.size);
  const TileSpace& space = layout_.tiles();
  std::array<std::vector<Segment>, 4> parts;
  std::array<std::int64_t, 4> from{};
  for (std::size_t d = 0; d < 4; ++d) {
    const auto dimension = static_cast<std::size_t>(order[d]);
    parts[d] = segments(block.offset[dimension], block.size[dimension]);
    from[d] = stride[dimension];
  }
  for (const Segment& p1 : parts[0]) {
    for (const Segment& p2 : parts[1]) {
      for (const Segment& h1 : parts[2]) {
        for (const Segment& h2 : parts[3]) {
          const PanelExtent* at = layout_.find(PanelKey::vvoo(set, {p1.tile, p2.tile, h1.tile, h2.tile}));
          if (at == nullptr) continue;
          const std::int64_t np1 = space[p1.tile].size, np2 = space[p2.tile].size, nh2 = space[h2.tile].size;
          const std::array<std::int64_t, 4> to = {np2, 1, np2 * np1 * nh2, np2 * np1};
          visit({*at,
                 p1.in_tile * to[0] + p2.in_tile * to[1] + h1.in_tile * to[2] + h2.in_tile * to[3],
                 p1.in_block * from[0] + p2.in_block * from[1] + h1.in_block * from[2] + h2.in_block * from[3],
                 {p1.size, p2.size, h1.size, h2.size},
                 from,
                 to,
                 sign});
        }
      }
    }
  }
}

void PanelBlocks::add_amplitudes(const TileSource& source, Side side, std::vector<Use>& uses) const {
  using enum PanelKind;
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  // t2[p1,p2,h3,h4]. In the spin-adapted formulation (p1, h3) are the indices of the alpha electron, (p2, h4) those of
  // the beta electron: t_{h h'}^{p d} in left panels, t_{l h}^{p p'} in right panels.
  const IndexMap to_left = adapted ? IndexMap{left, {0, 2, 3}, 1, Part::particles, 1.0, false, false}
                                   : IndexMap{left, {0, 2, 3}, 1, Part::particles, 1.0, true, true};
  const IndexMap to_right = adapted ? IndexMap{right, {0, 1, 3}, 2, Part::holes, 1.0, false, false}
                                    : IndexMap{right, {0, 1, 2}, 3, Part::holes, 1.0, true, true};
  constexpr Space h = Space::hole, p = Space::particle;
  uses.push_back({&source, TensorKind::t2, {p, p, h, h}, {0, 2, 3, 1}, {to_left, to_right}, {side}});
}

void PanelBlocks::add_integrals(const TileSource& source, std::span<const Side> sides, std::vector<Use>& uses) const {
  using enum PanelKind;
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  constexpr Space h = Space::hole, p = Space::particle;
  const std::vector<Side> all(sides.begin(), sides.end());
  // v2[p5,p6,h3,p7]. In the spin-adapted formulation it is (p5 h3|p6 p7), which becomes (p d|p' h).
  const IndexMap vvov = adapted ? IndexMap{right, {1, 0, 2}, 3, Part::particles, 1.0, false, false}
                                : IndexMap{right, {0, 1, 2}, 3, Part::particles, 1.0, true, false};
  // One right panel may belong to all sides.
  const std::vector<Side> with_right = layout_.joins_sides() ? std::vector<Side>{all.front()} : all;
  uses.push_back({&source, TensorKind::v2, {p, p, h, p}, {2, 0, 1, 3}, {vvov}, with_right});
  // v2[h7,p6,h2,h3]. In the spin-adapted formulation it is (h7 h2|p6 h3), which becomes -(p h|h' l).
  const IndexMap ovoo = adapted ? IndexMap{left, {1, 3, 2}, 0, Part::holes, -1.0, false, false}
                                : IndexMap{left, {1, 2, 3}, 0, Part::holes, 1.0, false, true};
  uses.push_back({&source, TensorKind::v2, {h, p, h, h}, {1, 2, 3, 0}, {ovoo}, all});
}

std::vector<PanelBlocks::Use> PanelBlocks::uses(const Problem& problem) const {
  std::vector<Use> uses;
  const std::span<const Side> sides = layout_.sides_with_panels(PanelKind::left);
  for (const Side side : sides) add_amplitudes(*problem.operands(side).amplitudes, side, uses);
  if (layout_.has_whole_rows()) {
    if (problem.shares_integrals()) {
      add_integrals(*problem.right, sides, uses);
    } else {
      for (const Side& side : sides) add_integrals(*problem.operands(side).integrals, std::span(&side, 1), uses);
    }
  }
  constexpr Space h = Space::hole, p = Space::particle;
  const bool images = layout_.formulation() == SpinFormulation::spin_orbital;
  for (std::size_t n = 0; n < layout_.sets(); ++n) {
    if (layout_.makes(PanelKey::vvoo(n, {}))) continue;
    const auto [set, operands] = problem.disconnected_set(static_cast<int>(n));
    const bool integrals = set.vvoo == VvooTensor::v2;
    const IndexMap map{PanelKind::vvoo, {}, 0, Part::holes, 1.0, images, images, static_cast<std::uint8_t>(n)};
    uses.push_back({integrals ? operands.integrals : operands.amplitudes,
                    integrals ? TensorKind::v2 : TensorKind::t2,
                    {p, p, h, h},
                    {0, 2, 3, 1},
                    {map},
                    {}});
  }
  return uses;
}

}
