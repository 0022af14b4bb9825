#include "tce_tiles/tiles/memory_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cxx/base/copy_box.hpp"
#include "cxx/base/error.hpp"

namespace trifuse {
namespace {

/// Adds to `index` each existing block whose tiles ascend in each pair. Tile k of a block must lie in [begin, end) =
/// `range[k]`.
void add_blocks(const TileSpace& space, const std::array<std::array<int, 2>, 4>& range, BlockIndex& index) {
  const auto& [r3, r4, r1, r2] = range;
  for (int g3 = r3[0]; g3 < r3[1]; ++g3) {
    for (int g4 = std::max(g3, r4[0]); g4 < r4[1]; ++g4) {
      for (int g1 = r1[0]; g1 < r1[1]; ++g1) {
        for (int g2 = std::max(g1, r2[0]); g2 < r2[1]; ++g2) {
          if (!block_exists(space, g3, g4, g1, g2)) continue;
          index.add({g3, g4, g1, g2}, v2_key(space, g3, g4, g1, g2),
                    space[g3].size * space[g4].size * space[g1].size * space[g2].size);
        }
      }
    }
  }
}

/// Adds the blocks {h p|h p} with the spins that `TileSource::has_exchange_integrals` names.
void add_exchange_blocks(const TileSpace& space, BlockIndex& index) {
  const auto range = [&](OrbitalClass c) { return std::array{space.first(c), space.last(c)}; };
  const auto add = [&](OrbitalClass hole, OrbitalClass particle) {
    add_blocks(space, {range(hole), range(particle), range(hole), range(particle)}, index);
  };
  if (space.restricted()) return add(OrbitalClass::hole_alpha, OrbitalClass::particle_beta);
  add(OrbitalClass::hole_alpha, OrbitalClass::particle_alpha);
  add(OrbitalClass::hole_beta, OrbitalClass::particle_beta);
}

/// The orbitals that one source tile and one target tile share.
struct TileOverlap {
  int tile;           ///< number of the target tile
  std::int64_t from;  ///< position of the first shared orbital in the source tile
  std::int64_t to;    ///< position of the first shared orbital in the target tile
  std::int64_t size;
};

/// Returns overlaps[source tile]: the overlaps of a source tile with all target tiles.
std::vector<std::vector<TileOverlap>> tile_overlaps(const TileSpace& source, const TileSpace& target) {
  std::vector<std::vector<TileOverlap>> all;
  for (const Tile& s : source.tiles()) {
    std::vector<TileOverlap>& list = all.emplace_back();
    for (int t = 0; t < target.size(); ++t) {
      const std::int64_t begin = std::max(s.offset, target[t].offset);
      const std::int64_t end = std::min(s.offset + s.size, target[t].offset + target[t].size);
      if (begin < end) list.push_back({t, begin - s.offset, begin - target[t].offset, end - begin});
    }
  }
  return all;
}

/// Calls `visit` with every combination of one overlap from each axis.
template <typename Visit>
void for_each_combination(const std::array<const std::vector<TileOverlap>*, 4>& axis, Visit visit) {
  for (const TileOverlap& w : *axis[0]) {
    for (const TileOverlap& x : *axis[1]) {
      for (const TileOverlap& y : *axis[2]) {
        for (const TileOverlap& z : *axis[3]) visit({&w, &x, &y, &z});
      }
    }
  }
}

std::array<std::int64_t, 4> strides(const TileSpace& space, const std::array<int, 4>& tiles) {
  return strides_of({space[tiles[0]].size, space[tiles[1]].size, space[tiles[2]].size, space[tiles[3]].size});
}

}

BlockIndex triples_v2_blocks(const TileSpace& space, bool exchange) {
  const std::array<int, 2> hole = {0, space.hole_tiles()};
  const std::array<int, 2> particle = {space.hole_tiles(), space.size()};
  BlockIndex index;
  add_blocks(space, {particle, particle, hole, hole}, index);
  add_blocks(space, {hole, particle, hole, hole}, index);
  add_blocks(space, {particle, particle, hole, particle}, index);
  if (exchange) add_exchange_blocks(space, index);
  return index;
}

BlockIndex exchange_v2_blocks(const TileSpace& space) {
  BlockIndex index;
  add_exchange_blocks(space, index);
  return index;
}

MemorySource::Tensor::Tensor(std::string its_name, BlockIndex its_index)
    : name(std::move(its_name)),
      index(std::move(its_index)),
      data(static_cast<std::size_t>(index.doubles())),
      is_set(index.blocks().size(), 0) {}

const Block& MemorySource::Tensor::find(std::int64_t key) const {
  const Block* block = index.find(key);
  if (!block) {
    throw UsageError(fmt::format(
        "This block of {} does not exist; its tiles must ascend in each pair and be allowed by spin and symmetry.",
        name));
  }
  return *block;
}

std::span<const double> MemorySource::Tensor::get(std::int64_t key) const {
  const Block& block = find(key);
  if (!is_set[static_cast<std::size_t>(&block - index.blocks().data())]) {
    throw InputError(fmt::format("Block ({}, {}, {}, {}) of {} was never set.", block.tiles[0], block.tiles[1],
                                 block.tiles[2], block.tiles[3], name));
  }
  return data.span().subspan(static_cast<std::size_t>(block.offset), static_cast<std::size_t>(block.size));
}

std::span<double> MemorySource::Tensor::writable(const Block& block) {
  is_set[static_cast<std::size_t>(&block - index.blocks().data())] = 1;
  return data.span().subspan(static_cast<std::size_t>(block.offset), static_cast<std::size_t>(block.size));
}

void MemorySource::Tensor::set(std::int64_t key, std::span<const double> block) {
  const Block& found = find(key);
  if (static_cast<std::int64_t>(block.size()) != found.size) {
    throw UsageError(fmt::format("A block of {} was given with {} numbers, but by its tiles it has {}.", name,
                                 block.size(), found.size));
  }
  std::copy(block.begin(), block.end(), writable(found).begin());
}

void MemorySource::Tensor::copy(std::int64_t key, std::span<double> block) const {
  const std::span<const double> values = get(key);
  if (values.size() != block.size()) {
    throw UsageError(
        fmt::format("A block of {} was requested with {} numbers, but it has {}.", name, block.size(), values.size()));
  }
  std::copy(values.begin(), values.end(), block.begin());
}

MemorySource::MemorySource(TileSpace space, std::vector<double> energies, SourceInfo info, Contents contents)
    : space_(std::move(space)),
      energies_(std::move(energies)),
      info_(std::move(info)),
      contents_(contents),
      fock_("the Fock matrix", contents.fock ? f1_blocks(space_) : BlockIndex()),
      t1_("T1", t1_blocks(space_)),
      t2_("T2", t2_blocks(space_)),
      v2_("V2", contents.integrals ? triples_v2_blocks(space_, contents.exchange) : BlockIndex()) {
  if (static_cast<std::int64_t>(energies_.size()) != space_.orbitals()) {
    throw UsageError(
        fmt::format("{} orbital energies were given for {} spin orbitals.", energies_.size(), space_.orbitals()));
  }
}

void MemorySource::set_fock(int g6, int g5, std::span<const double> block) {
  fock_.set(checked_f1_key(space_, g6, g5), block);
}
void MemorySource::set_t1(int p, int h, std::span<const double> block) {
  t1_.set(checked_t1_key(space_, p, h), block);
}
void MemorySource::set_t2(int p1, int p2, int h3, int h4, std::span<const double> block) {
  t2_.set(checked_t2_key(space_, p1, p2, h3, h4), block);
}
void MemorySource::set_v2(int g3, int g4, int g1, int g2, std::span<const double> block) {
  v2_.set(checked_v2_key(space_, g3, g4, g1, g2), block);
}

std::span<const double> MemorySource::fock(int g6, int g5) const {
  return fock_.get(checked_f1_key(space_, g6, g5));
}
std::span<const double> MemorySource::t1(int p, int h) const {
  return t1_.get(checked_t1_key(space_, p, h));
}
std::span<const double> MemorySource::t2(int p1, int p2, int h3, int h4) const {
  return t2_.get(checked_t2_key(space_, p1, p2, h3, h4));
}
std::span<const double> MemorySource::v2(int g3, int g4, int g1, int g2) const {
  return v2_.get(checked_v2_key(space_, g3, g4, g1, g2));
}

void MemorySource::read_fock(int g6, int g5, std::span<double> block) const {
  fock_.copy(checked_f1_key(space_, g6, g5), block);
}
void MemorySource::read_t1(int p, int h, std::span<double> block) const {
  t1_.copy(checked_t1_key(space_, p, h), block);
}
void MemorySource::read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const {
  t2_.copy(checked_t2_key(space_, p1, p2, h3, h4), block);
}
void MemorySource::read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const {
  v2_.copy(checked_v2_key(space_, g3, g4, g1, g2), block);
}

void MemorySource::check_complete() const {
  for (const Tensor* tensor : {&fock_, &t1_, &t2_, &v2_}) {
    const auto missing = std::find(tensor->is_set.begin(), tensor->is_set.end(), 0);
    if (missing == tensor->is_set.end()) continue;
    const Block& block = tensor->index.blocks()[static_cast<std::size_t>(missing - tensor->is_set.begin())];
    throw UsageError(fmt::format("{} of the {} blocks of {} were not set; the first is ({}, {}, {}, {}).",
                                 std::count(missing, tensor->is_set.end(), 0), tensor->is_set.size(), tensor->name,
                                 block.tiles[0], block.tiles[1], block.tiles[2], block.tiles[3]));
  }
}

/// Copies the blocks of a source into blocks with other tiles.
class Retiling {
 public:
  /// `target` must have the same orbitals as `source`, and no block that is set. Both must outlive the copies.
  Retiling(const TileSource& source, MemorySource& target)
      : source_(source), target_(target), overlaps_(tile_overlaps(old_, space_)) {}

  /// Copies the tensors that `contents` names, and T1 and T2.
  void copy(MemorySource::Contents contents);

 private:
  void copy_matrices(TensorKind tensor, const BlockIndex& blocks, MemorySource::Tensor& into);
  void copy_ordered(TensorKind tensor, const std::array<int, 4>& tiles, const std::array<std::int64_t, 4>& from_stride,
                    double sign, MemorySource::Tensor& into);
  void copy_blocks(TensorKind tensor, const BlockIndex& blocks, MemorySource::Tensor& into);

  const TileSource& source_;
  MemorySource& target_;
  const TileSpace& old_ = source_.tiles();
  const TileSpace& space_ = target_.space_;
  std::vector<std::vector<TileOverlap>> overlaps_;  ///< [source tile]: its overlaps with target tiles
  Buffer buffer_;                                   ///< the block that was read last
};

/// Copies blocks of two indices.
void Retiling::copy_matrices(TensorKind tensor, const BlockIndex& blocks, MemorySource::Tensor& into) {
  for (const Block& b : blocks.blocks()) {
    buffer_.reserve(static_cast<std::size_t>(b.size));
    source_.read_block(tensor, b.tiles, buffer_.span().first(static_cast<std::size_t>(b.size)));
    const std::int64_t row = old_[b.tiles[1]].size;
    for (const TileOverlap& u : overlaps_[static_cast<std::size_t>(b.tiles[0])]) {
      for (const TileOverlap& l : overlaps_[static_cast<std::size_t>(b.tiles[1])]) {
        double* target = into.writable(into.find(block_key(space_, tensor, {u.tile, l.tile}))).data();
        const std::int64_t target_row = space_[l.tile].size;
        copy_matrix(u.size, l.size, buffer_.data() + u.from * row + l.from, row, target + u.to * target_row + l.to,
                    target_row);
      }
    }
  }
}

/// Copies the source block in `buffer_` to all target blocks whose tiles ascend in each pair. `tiles` and `from_stride`
/// are the source tiles and strides by axis of the target.
void Retiling::copy_ordered(TensorKind tensor, const std::array<int, 4>& tiles,
                            const std::array<std::int64_t, 4>& from_stride, double sign, MemorySource::Tensor& into) {
  std::array<const std::vector<TileOverlap>*, 4> axis{};
  for (std::size_t k = 0; k < 4; ++k) axis[k] = &overlaps_[static_cast<std::size_t>(tiles[k])];
  for_each_combination(axis, [&](const std::array<const TileOverlap*, 4>& box) {
    const auto& [u1, u2, l1, l2] = box;
    if (u1->tile > u2->tile || l1->tile > l2->tile) return;
    const auto to_stride = strides(space_, {u1->tile, u2->tile, l1->tile, l2->tile});
    const double* from = buffer_.data();
    double* to = into.writable(into.find(block_key(space_, tensor, {u1->tile, u2->tile, l1->tile, l2->tile}))).data();
    for (std::size_t k = 0; k < 4; ++k) {
      from += box[k]->from * from_stride[k];
      to += box[k]->to * to_stride[k];
    }
    copy_box({u1->size, u2->size, l1->size, l2->size}, from, from_stride, to, to_stride, sign);
  });
}

/// A source block also gives the blocks in which the tiles of a pair are exchanged. The target needs them if one of
/// its tiles holds orbitals of both tiles of a pair: then both orders of the two orbitals occur in the target block.
void Retiling::copy_blocks(TensorKind tensor, const BlockIndex& blocks, MemorySource::Tensor& into) {
  for (const Block& b : blocks.blocks()) {
    buffer_.reserve(static_cast<std::size_t>(b.size));
    source_.read_block(tensor, b.tiles, buffer_.span().first(static_cast<std::size_t>(b.size)));
    for (const bool swap_upper : {false, true}) {
      for (const bool swap_lower : {false, true}) {
        if ((swap_upper && b.tiles[0] == b.tiles[1]) || (swap_lower && b.tiles[2] == b.tiles[3])) continue;
        std::array<int, 4> tiles = b.tiles;
        std::array<std::int64_t, 4> stride = strides(old_, tiles);
        if (swap_upper) std::swap(tiles[0], tiles[1]), std::swap(stride[0], stride[1]);
        if (swap_lower) std::swap(tiles[2], tiles[3]), std::swap(stride[2], stride[3]);
        copy_ordered(tensor, tiles, stride, swap_upper == swap_lower ? 1.0 : -1.0, into);
      }
    }
  }
}

void Retiling::copy(MemorySource::Contents contents) {
  if (contents.fock) copy_matrices(TensorKind::fock, f1_blocks(old_), target_.fock_);
  copy_matrices(TensorKind::t1, t1_blocks(old_), target_.t1_);
  copy_blocks(TensorKind::t2, t2_blocks(old_), target_.t2_);
  if (contents.integrals) copy_blocks(TensorKind::v2, triples_v2_blocks(old_, contents.exchange), target_.v2_);
}

std::unique_ptr<TileSource> retile(const TileSource& source, const TileSpace& cut, MemorySource::Contents contents) {
  const auto energies = source.orbital_energies();
  auto result = std::make_unique<MemorySource>(cut, std::vector<double>(energies.begin(), energies.end()),
                                               source.info(), contents);
  Retiling(source, *result).copy(contents);
  return result;
}

}
