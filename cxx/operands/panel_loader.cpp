#include "cxx/operands/panel_loader.hpp"

#include <algorithm>
#include <mutex>
#include <type_traits>

#include "cxx/base/buffer.hpp"
#include "cxx/base/copy_box.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

namespace {

using Strides = std::array<std::int64_t, 4>;

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

/// Computes target[f * target_step + q] = sign * source[q * source_step + f] for f < `width` and q < `height`. If both
/// are constants, the compiler keeps the square in registers.
template <typename Width, typename Height>
void copy_square(Width width, Height height, const double* source, std::int64_t source_step, double* target,
                 std::int64_t target_step, double sign) {
  for (std::int64_t x = 0; x < width; ++x)
    for (std::int64_t y = 0; y < height; ++y) target[x * target_step + y] = sign * source[y * source_step + x];
}

/// Calls `body(count)`. `count` is a compile-time constant for the usual extents of a square.
template <typename Body>
void with_constant(std::int64_t count, Body body) {
  using Eight = std::integral_constant<std::int64_t, 8>;
  using Four = std::integral_constant<std::int64_t, 4>;
  if (count == Eight{}) return body(Eight{});
  count == Four{} ? body(Four{}) : body(count);
}

/// Does what copy_square() does for f < `fast` and q < `inner`, in small squares.
void copy_transposed(std::int64_t fast, std::int64_t inner, const double* source, std::int64_t source_step,
                     double* target, std::int64_t target_step, double sign) {
  constexpr std::int64_t edge = 8;  // doubles of a cache line
  for (std::int64_t f = 0; f < fast; f += edge) {
    with_constant(std::min(edge, fast - f), [&](auto width) {
      for (std::int64_t q = 0; q < inner; q += edge) {
        with_constant(std::min(edge, inner - q), [&](auto height) {
          copy_square(width, height, source + q * source_step + f, source_step, target + f * target_step + q,
                      target_step, sign);
        });
      }
    });
  }
}

/// A copy of a four-index array into another index order. `extent`: number of values of each index. `from`, `to`:
/// strides of each index in the source and in the target, in doubles.
struct ReorderedCopy {
  std::array<std::int64_t, 4> extent, from, to;
};

/// Computes target[x . to] = sign * source[x . from] for all indices x. The target is contiguous in the
/// index `inner`, the source in the index `fast`. If the two differ, small squares are copied, so that all elements of
/// a cache line are used on both sides.
void copy_reordered(const ReorderedCopy& copy, const double* source, double* target, double sign) {
  std::size_t inner = 3, fast = 3;
  for (std::size_t d = 0; d < 4; ++d) {
    if (copy.to[d] == 1) inner = d;
  }
  if (copy.from[inner] == 1) {
    fast = inner;
  } else {
    for (std::size_t d = 0; d < 4; ++d) {
      if (copy.from[d] == 1 && d != inner) fast = d;
    }
  }
  // The indices other than `inner` and `fast`. If these two are the same index, there are three others.
  std::array<std::size_t, 3> outer{};
  std::size_t outers = 0;
  for (std::size_t d = 0; d < 4; ++d) {
    if (d != inner && d != fast) outer[outers++] = d;
  }
  const auto n = copy.extent;
  const auto last = outers == 3 ? n[outer[2]] : 1;
  for (std::int64_t x = 0; x < n[outer[0]]; ++x) {
    for (std::int64_t y = 0; y < n[outer[1]]; ++y) {
      for (std::int64_t z = 0; z < last; ++z) {
        const double* s = source + x * copy.from[outer[0]] + y * copy.from[outer[1]];
        double* t = target + x * copy.to[outer[0]] + y * copy.to[outer[1]];
        if (outers == 3) {
          s += z * copy.from[outer[2]];
          t += z * copy.to[outer[2]];
          for (std::int64_t q = 0; q < n[inner]; ++q) t[q] = sign * s[q];
        } else {
          copy_transposed(n[fast], n[inner], s, copy.from[inner], t, copy.to[fast], sign);
        }
      }
    }
  }
}

/// Returns the number of elements of a block.
std::int64_t doubles_of(const TileSpace& space, const std::array<int, 4>& tiles) {
  return space[tiles[0]].size * space[tiles[1]].size * space[tiles[2]].size * space[tiles[3]].size;
}

}

std::vector<PanelLoader::Segment> PanelLoader::segments(std::int64_t offset, std::int64_t size) const {
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

PanelLoader::BlockData PanelLoader::without_data(const TileSpace& space, const BlockTiles& tiles) const {
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  BlockData block{{}, {}, nullptr, tiles};
  for (std::size_t d = 0; d < 4; ++d) {
    const Tile& tile = space[tiles[d]];
    block.size[d] = tile.size;
    block.offset[d] = adapted ? space[tile.partner].offset : tile.offset;
  }
  return block;
}

template <typename Write>
std::vector<PanelLoader::BlockTiles> PanelLoader::list_blocks(const TileSpace& space,
                                                              const std::array<Space, 4>& spaces,
                                                              const std::array<int, 4>& loop_order, Write write) const {
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  // The spin-adapted formulation needs only the blocks with the spins alpha beta in both pairs.
  const auto candidate = [&](int dimension, int tile) {
    return !adapted || space[tile].spin() == (dimension % 2 == 0 ? Spin::alpha : Spin::beta);
  };
  const auto range = [&](int dimension) {
    return spaces[static_cast<std::size_t>(dimension)] == Space::hole ? std::pair{0, space.hole_tiles()}
                                                                      : std::pair{space.hole_tiles(), space.size()};
  };
  std::vector<BlockTiles> blocks;
  BlockTiles t{};
  const auto loop = [&](auto&& self, std::size_t depth) -> void {
    if (depth == 4) {
      if (t[0] > t[1] || t[2] > t[3] || !block_exists(space, t[0], t[1], t[2], t[3])) return;
      if (write(without_data(space, t))) blocks.push_back(t);
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
  return blocks;
}

template <typename Read, typename Write>
void PanelLoader::for_each_block(const TileSource& source, std::array<Space, 4> spaces, std::array<int, 4> loop_order,
                                 Read read, Write write) {
  const TileSpace& space = source.tiles();
  const std::vector<BlockTiles> blocks = list_blocks(space, spaces, loop_order, write);
  std::int64_t largest = 1;
  for (const BlockTiles& tiles : blocks) largest = std::max(largest, doubles_of(space, tiles));

  // One thread reads all blocks that differ only in the innermost tile. In a dump file they have the same rows.
  const bool concurrent = source.concurrent_reads();
  const auto same_group = [&](const std::array<int, 4>& x, const std::array<int, 4>& y) {
    return concurrent && std::all_of(loop_order.begin(), loop_order.end() - 1, [&](int dimension) {
             return x[static_cast<std::size_t>(dimension)] == y[static_cast<std::size_t>(dimension)];
           });
  };
  std::vector<std::size_t> groups;
  for (std::size_t n = 0; n < blocks.size(); ++n) {
    if (n == 0 || !same_group(blocks[n - 1], blocks[n])) groups.push_back(n);
  }
  const std::size_t group_count = groups.size();
  groups.push_back(blocks.size());
  // Blocks are written to separate memory, so at most the reading needs a lock.
  const std::int64_t useful = std::min(static_cast<std::int64_t>(group_count), max_buffered_ / largest);
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(useful, 1, available_threads()));
  // Without concurrent reads the blocks are read one after the other, in the order of the list.
  const auto load = [&](std::size_t group, Buffer& buffer, std::unique_lock<std::mutex>& lock) {
    for (std::size_t n = groups[group]; n < groups[group + 1]; ++n) {
      BlockData block = without_data(space, blocks[n]);
      const auto count = static_cast<std::size_t>(doubles_of(space, block.tiles));
      buffer.reserve(count);
      read(block.tiles, std::span(buffer.data(), count));
      if (lock.owns_lock()) lock.unlock();
      block.data = buffer.data();
      write(block);
      bytes_read_ += static_cast<std::int64_t>(count * sizeof(double));
    }
  };
  share_with_lock<Buffer>(group_count, threads, !concurrent, load);
}

bool PanelLoader::write_image(const BlockData& block, const std::array<int, 4>& order, double sign, const IndexMap& map,
                              Side side) {
  const Strides stride = strides_of(block.size);
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
  bool lands = false;
  const std::int64_t contracted_begin =
      block.offset[contracted] - space.range(contracted_tile.orbital_class, contracted_tile.irrep).offset;
  for (const Segment& s0 : parts[0]) {
    for (const Segment& s1 : parts[1]) {
      for (const Segment& s2 : parts[2]) {
        const PanelTiles tiles{s0.tile, s1.tile, s2.tile};
        const PanelKey key = left ? PanelKey::left(tiles, side) : PanelKey::right(tiles, side);
        const PanelExtent* at = layout_.find(key);
        // There is no panel for this order of the pair, no task reads the panel, or another process owns it.
        if (at == nullptr || !own_.contains(*at)) continue;
        lands = true;
        if (block.data == nullptr) continue;
        const PanelRows row = layout_.stored_rows(key);
        // The rows of a left panel are in the order [h, h', p], the rows of a right panel in the order [h, p, p'].
        const std::int64_t n0 = space[s0.tile].size, n1 = space[s1.tile].size, n2 = space[s2.tile].size;
        const std::array<std::int64_t, 3> to =
            left ? std::array<std::int64_t, 3>{1, n0 * n2, n0} : std::array<std::int64_t, 3>{n1, 1, n0 * n1};
        const std::int64_t part = map.part == Part::particles ? row.particle_part : row.hole_part;
        copy_reordered({{s0.size, s1.size, s2.size, block.size[contracted]},
                        {from[0], from[1], from[2], stride[contracted]},
                        {to[0] * row.stride, to[1] * row.stride, to[2] * row.stride, 1}},
                       block.data + s0.in_block * from[0] + s1.in_block * from[1] + s2.in_block * from[2],
                       own_.data(*at) + part + contracted_begin +
                           (s0.in_tile * to[0] + s1.in_tile * to[1] + s2.in_tile * to[2]) * row.stride,
                       sign);
      }
    }
  }
  return lands;
}

bool PanelLoader::write_block(const BlockData& block, const IndexMap& map, Side side) {
  // A block with two equal tiles in a pair is stored completely, with its images.
  const bool bra = map.bra_images && block.tiles[0] != block.tiles[1];
  const bool ket = map.ket_images && block.tiles[2] != block.tiles[3];
  bool lands = false;
  for (const Image& image : images(bra, ket)) {
    lands |= write_image(block, image.order, map.sign * image.sign, map, side);
  }
  return lands;
}

void PanelLoader::load_amplitudes(const TileSource& source, Side side) {
  using enum PanelKind;
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  // t2[p1,p2,h3,h4]. In the spin-adapted formulation (p1, h3) are the indices of the alpha electron, (p2, h4) those of
  // the beta electron: t_{h h'}^{p d} in left panels, t_{l h}^{p p'} in right panels.
  const IndexMap to_left = adapted ? IndexMap{left, {0, 2, 3}, 1, Part::particles, 1.0, false, false}
                                   : IndexMap{left, {0, 2, 3}, 1, Part::particles, 1.0, true, true};
  const IndexMap to_right = adapted ? IndexMap{right, {0, 1, 3}, 2, Part::holes, 1.0, false, false}
                                    : IndexMap{right, {0, 1, 2}, 3, Part::holes, 1.0, true, true};
  constexpr Space h = Space::hole, p = Space::particle;
  for_each_block(
      source, {p, p, h, h}, {0, 2, 3, 1},
      [&](const std::array<int, 4>& t, std::span<double> block) { source.read_t2(t[0], t[1], t[2], t[3], block); },
      [&](const BlockData& block) {
        const bool lands = write_block(block, to_left, side);
        return write_block(block, to_right, side) || lands;
      });
}

void PanelLoader::load_integrals(const TileSource& source, std::span<const Side> sides) {
  using enum PanelKind;
  if (layout_.has_factors()) return load_factors_of_holes(*source.factors());
  const bool adapted = layout_.formulation() == SpinFormulation::spin_adapted;
  constexpr Space h = Space::hole, p = Space::particle;
  const auto read = [&](const std::array<int, 4>& t, std::span<double> block) {
    source.read_v2(t[0], t[1], t[2], t[3], block);
  };
  // v2[p5,p6,h3,p7]. In the spin-adapted formulation it is (p5 h3|p6 p7), which becomes (p d|p' h).
  const IndexMap vvov = adapted ? IndexMap{right, {1, 0, 2}, 3, Part::particles, 1.0, false, false}
                                : IndexMap{right, {0, 1, 2}, 3, Part::particles, 1.0, true, false};
  // One right panel may belong to all sides.
  const auto with_right = layout_.joins_sides() ? sides.first(1) : sides;
  const auto write = [this](const BlockData& block, const IndexMap& map, std::span<const Side> to) {
    bool lands = false;
    for (const Side side : to) lands = write_block(block, map, side) || lands;
    return lands;
  };
  for_each_block(source, {p, p, h, p}, {2, 0, 1, 3}, read,
                 [&](const BlockData& block) { return write(block, vvov, with_right); });
  // v2[h7,p6,h2,h3]. In the spin-adapted formulation it is (h7 h2|p6 h3), which becomes -(p h|h' l).
  const IndexMap ovoo = adapted ? IndexMap{left, {1, 3, 2}, 0, Part::holes, -1.0, false, false}
                                : IndexMap{left, {1, 2, 3}, 0, Part::holes, 1.0, false, true};
  for_each_block(source, {h, p, h, h}, {1, 2, 3, 0}, read,
                 [&](const BlockData& block) { return write(block, ovoo, sides); });
}

void PanelLoader::load_factors_of_holes(const FactorSource& source) {
  struct Slab {
    PanelKey key;
    std::span<double> values;
  };
  const TileSpace& space = layout_.tiles();
  const auto of_tile = [&](int t) { return orbitals_of(space, space[t]); };
  std::vector<Slab> slabs;
  layout_.visit([&](const PanelKey& key, const PanelExtent& extent) {
    const bool of_hole = key.kind == PanelKind::factors_ov || key.kind == PanelKind::factors_oo;
    if (!of_hole || !own_.contains(extent)) return;
    slabs.push_back({key, {own_.data(extent), static_cast<std::size_t>(extent.doubles)}});
    bytes_read_ += static_cast<std::int64_t>(slabs.back().values.size_bytes());
  });
  share_in_turns(slabs.size(), available_threads(), [&](std::size_t n) {
    const auto& [key, values] = slabs[n];
    const ClassOrbitals h = of_tile(key.tiles[0]);
    if (key.kind == PanelKind::factors_oo) {
      source.read_oo(h, orbitals_of(space, h.orbital_class, key.tiles[1]), values);
    } else {
      source.read_ov(h, of_tile(key.tiles[1]), values);
    }
  });
}

bool PanelLoader::write_vvoo(const BlockData& block, std::size_t set) {
  const bool antisymmetric = layout_.formulation() == SpinFormulation::spin_orbital;
  const Strides stride = strides_of(block.size);
  const TileSpace& space = layout_.tiles();
  bool lands = false;
  for (const Image& image :
       images(antisymmetric && block.tiles[0] != block.tiles[1], antisymmetric && block.tiles[2] != block.tiles[3])) {
    std::array<std::vector<Segment>, 4> parts;
    std::array<std::int64_t, 4> from{};
    for (std::size_t d = 0; d < 4; ++d) {
      const auto dimension = static_cast<std::size_t>(image.order[d]);
      parts[d] = segments(block.offset[dimension], block.size[dimension]);
      from[d] = stride[dimension];
    }
    for (const Segment& p1 : parts[0]) {
      for (const Segment& p2 : parts[1]) {
        for (const Segment& h1 : parts[2]) {
          for (const Segment& h2 : parts[3]) {
            const PanelExtent* at = layout_.find(PanelKey::vvoo(set, {p1.tile, p2.tile, h1.tile, h2.tile}));
            if (at == nullptr || !own_.contains(*at)) continue;
            lands = true;
            if (block.data == nullptr) continue;
            const std::int64_t np1 = space[p1.tile].size, np2 = space[p2.tile].size, nh2 = space[h2.tile].size;
            const std::array<std::int64_t, 4> to = {np2, 1, np2 * np1 * nh2, np2 * np1};
            copy_reordered(
                {{p1.size, p2.size, h1.size, h2.size}, from, to},
                block.data + p1.in_block * from[0] + p2.in_block * from[1] + h1.in_block * from[2] +
                    h2.in_block * from[3],
                own_.data(*at) + p1.in_tile * to[0] + p2.in_tile * to[1] + h1.in_tile * to[2] + h2.in_tile * to[3],
                image.sign);
          }
        }
      }
    }
  }
  return lands;
}

void PanelLoader::load_ov_tensor(const TileSource& source, void (TileSource::*read)(int, int, std::span<double>) const,
                                 double weight, std::vector<double>& factor) {
  const TileSpace& space = source.tiles();
  std::vector<double> block;
  const auto n = static_cast<std::size_t>(space.orbitals());
  for (int p = space.hole_tiles(); p < space.size(); ++p) {
    for (int h = 0; h < space.hole_tiles(); ++h) {
      if (space[p].spin() != space[h].spin() || space[p].irrep != space[h].irrep) continue;
      // In a restricted space the alpha block is also the beta block.
      const int stored_p = space[p].partner, stored_h = space[h].partner;
      block.resize(static_cast<std::size_t>(space[p].size * space[h].size));
      (source.*read)(stored_p, stored_h, block);
      for (std::size_t x = 0; x < static_cast<std::size_t>(space[p].size); ++x) {
        for (std::size_t y = 0; y < static_cast<std::size_t>(space[h].size); ++y) {
          factor[(static_cast<std::size_t>(space[h].offset) + y) * n + static_cast<std::size_t>(space[p].offset) + x] =
              weight * block[x * static_cast<std::size_t>(space[h].size) + y];
        }
      }
    }
  }
}

void PanelLoader::load_ov_tensors(const Problem& problem, std::span<std::vector<double>> ov_tensors) {
  for (std::size_t n = 0; n < ov_tensors.size(); ++n) {
    const auto [set, operands] = problem.disconnected_set(static_cast<int>(n));
    if (set.ov == OvTensor::t1) {
      load_ov_tensor(*operands.amplitudes, &TileSource::read_t1, set.weight, ov_tensors[n]);
    } else {
      load_ov_tensor(*operands.integrals, &TileSource::read_fock, set.weight, ov_tensors[n]);
    }
  }
}

void PanelLoader::load_vvoo(const Problem& problem) {
  constexpr Space h = Space::hole, p = Space::particle;
  for (std::size_t n = 0; n < layout_.sets(); ++n) {
    if (layout_.makes(PanelKey::vvoo(n, {}))) continue;
    const auto [set, operands] = problem.disconnected_set(static_cast<int>(n));
    const bool integrals = set.vvoo == VvooTensor::v2;
    const TileSource& source = integrals ? *operands.integrals : *operands.amplitudes;
    const auto read = integrals ? &TileSource::read_v2 : &TileSource::read_t2;
    for_each_block(
        source, {p, p, h, h}, {0, 2, 3, 1},
        [&](const std::array<int, 4>& t, std::span<double> block) { (source.*read)(t[0], t[1], t[2], t[3], block); },
        [&](const BlockData& block) { return write_vvoo(block, n); });
  }
}

std::int64_t PanelLoader::load(const Problem& problem, std::span<std::vector<double>> ov_tensors) {
  const FactorSource* const factors = problem.right->factors();
  const auto held = factors != nullptr ? factors->acquire_factors(nullptr) : nullptr;
  const std::span<const Side> sides = layout_.sides_with_panels(PanelKind::left);
  for (const Side side : sides) load_amplitudes(*problem.operands(side).amplitudes, side);
  if (problem.shares_integrals()) {
    load_integrals(*problem.right, sides);
  } else {
    for (const Side& side : sides) load_integrals(*problem.operands(side).integrals, std::span(&side, 1));
  }
  load_ov_tensors(problem, ov_tensors);
  load_vvoo(problem);
  return bytes_read_;
}

}
