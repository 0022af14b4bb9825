#include "tce_tiles/checks/block_singles.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/blas.hpp"
#include "tce_tiles/checks/small_operations.hpp"
#include "tce_tiles/tiles/dense_blocks.hpp"

namespace trifuse {
namespace {

std::size_t pair_number(int first, int second) {
  return at(2 * first + second);
}

}

void BlockSingles::DenseArray::make(const std::array<std::int64_t, 4>& shape) {
  extent = shape;
  const std::size_t size = at(shape[0] * shape[1] * shape[2] * shape[3]);
  values.reserve(size);
  std::fill_n(values.data(), size, 0.0);
}

void BlockSingles::DenseArray::copy_slab(std::int64_t n, std::int64_t first, std::span<double> out) const {
  std::copy_n(values.data() + (n * extent[1] + first) * extent[2] * extent[3], out.size(), out.begin());
}

double BlockSingles::bytes(const TileSpace& tiles, bool with_oovv) {
  double doubles = 0.0;
  const int spins = tiles.restricted() ? 1 : 2;
  for (int first = 0; first < spins; ++first) {
    for (int second = 0; second < spins; ++second) {
      const auto count = [&](OrbitalClass c) { return static_cast<double>(tiles.orbitals(c)); };
      const double o1 = count(holes_of(first)), v1 = count(particles_of(first));
      const double o2 = count(holes_of(second)), v2 = count(particles_of(second));
      const bool with_exchange = with_oovv && first == second;
      doubles += o1 * v1 * o2 * (2.0 * v2 + o2) + (with_exchange ? o1 * o2 * v1 * v2 : 0.0);
    }
  }
  return 8.0 * doubles;
}

BlockSingles::BlockSingles(const TileSpace& tiles, double omega2, std::array<std::vector<double>, 2> t1,
                           std::array<std::vector<double>, 2> fock, bool with_oovv)
    : tiles_(tiles) {
  problem_.restricted = tiles.restricted();
  problem_.omega2 = omega2;
  problem_.t1 = std::move(t1);
  problem_.fock = std::move(fock);
  const int spins = tiles.restricted() ? 1 : 2;
  for (int s = 0; s < spins; ++s) {
    problem_.occupied[at(s)] = tiles.orbitals(holes_of(s));
    problem_.virtuals[at(s)] = tiles.orbitals(particles_of(s));
    problem_.has_oovv[at(s)] = with_oovv;
    // TCE's blocks of equal spins are antisymmetrised.
    for (auto* asym : {&problem_.asym_ovvv, &problem_.asym_ovoo, &problem_.asym_ovov, &problem_.asym_oovv}) {
      (*asym)[at(s)] = !tiles.restricted();
    }
  }
  for (int first = 0; first < spins; ++first) {
    const std::int64_t o1 = problem_.occupied[at(first)], v1 = problem_.virtuals[at(first)];
    for (int second = 0; second < spins; ++second) {
      const std::int64_t o2 = problem_.occupied[at(second)], v2 = problem_.virtuals[at(second)];
      const std::size_t k = pair_number(first, second);
      t2_[k].make({o1, o2, v1, v2});
      ovov_[k].make({o1, v1, o2, v2});
      ovoo_[k].make({o1, v1, o2, o2});
    }
    if (with_oovv) oovv_[at(first)].make({o1, o1, v1, v1});
  }
}

void BlockSingles::copy_to_array(const std::array<int, 4>& tiles, std::span<const double> block,
                                 const std::array<std::size_t, 4>& axes, double sign, DenseArray& to) const {
  std::array<std::int64_t, 4> stride{};  // strides in `to`, by axis of the block
  std::int64_t step = 1, begin = 0;
  for (std::size_t k = 4; k-- > 0;) {
    stride[axes[k]] = step;
    begin += tiles_.offset_in_class(tiles[axes[k]]) * step;
    step *= to.extent[k];
  }
  scatter_block(block.data(), extents(tiles), sign, stride, to.values.data() + begin);
}

void BlockSingles::copy_to_pair_arrays(const std::array<int, 4>& tiles, std::span<const double> block,
                                       const std::array<std::size_t, 4>& axes, std::array<DenseArray, 4>& to) {
  const int first = spin(tiles[0]), second = spin(tiles[1]);
  if (problem_.restricted) {
    if (first != second) copy_to_array(tiles, block, axes, 1.0, to[0]);
    return;
  }
  if (first != second) {
    copy_to_array(tiles, block, axes, 1.0, to[pair_number(0, 1)]);
    // Puts the other electron first: exchanges the axes of p1 and p2, and the axes of h3 and h4.
    std::array<std::size_t, 4> other = axes;
    for (std::size_t& axis : other) axis ^= 1U;
    copy_to_array(tiles, block, other, 1.0, to[pair_number(1, 0)]);
    return;
  }
  DenseArray& same = to[pair_number(first, first)];
  for (const bool swap_p : {false, true}) {
    for (const bool swap_h : {false, true}) {
      std::array<std::size_t, 4> order = axes;
      for (std::size_t& axis : order) {
        if (axis < 2 ? swap_p : swap_h) axis ^= 1U;
      }
      copy_to_array(tiles, block, order, swap_p == swap_h ? 1.0 : -1.0, same);
    }
  }
}

void BlockSingles::add_t2(const std::array<int, 4>& tiles, std::span<const double> block) {
  copy_to_pair_arrays(tiles, block, {2, 3, 0, 1}, t2_);
}

void BlockSingles::add_v2(const std::array<int, 4>& tiles, std::span<const double> block) {
  const auto [g3, g4, g1, g2] = tiles;
  const bool same = spin(g3) == spin(g4);
  // For opposite spins a block is either the direct integral or minus the exchange integral.
  const bool direct = spin(g3) == spin(g1);
  if (problem_.restricted && (same || !direct)) return;
  if (particle(g3) && !particle(g2)) return copy_to_pair_arrays(tiles, block, {2, 0, 3, 1}, ovov_);
  if (!particle(g3) && particle(g4) && !particle(g1) && particle(g2)) {
    if (problem_.restricted || same)
      copy_to_array(tiles, block, {0, 2, 1, 3}, 1.0, oovv_[problem_.restricted ? 0 : at(spin(g3))]);
    return;
  }
  if (particle(g3) && !particle(g1) && particle(g2)) {  // ovvv[h3,p5,p6,p7] from v2[p5,p6,h3,p7]
    if (same || direct) add_ovvv(tiles, block, {2, 0, 1, 3}, 1.0);
    if (!same && !direct) add_ovvv(tiles, block, {2, 1, 0, 3}, -1.0);
    if (same && g3 != g4) add_ovvv(tiles, block, {2, 1, 0, 3}, -1.0);
    return;
  }
  if (!particle(g3) && particle(g4) && !particle(g2)) {  // ovoo[h3,p6,h2,h7] from v2[h7,p6,h2,h3]
    const int second = spin(g3), first = spin(g4);
    DenseArray& to = ovoo_[problem_.restricted ? 0 : pair_number(first, second)];
    if (same || direct) copy_to_array(tiles, block, {3, 1, 2, 0}, 1.0, to);
    if (!same && !direct) copy_to_array(tiles, block, {2, 1, 3, 0}, -1.0, to);
    if (same) copy_to_array(tiles, block, {2, 1, 3, 0}, -1.0, to);
  }
}

void BlockSingles::finish_collecting(int part, int parts) {
  use_single_threaded_blas();
  const auto orbitals = static_cast<std::size_t>(std::max(problem_.occupied[0], problem_.occupied[1]));
  // For every pair of virtual tiles, the blocks of ovvv use each tile of occupied orbitals again.
  const SinglesSlabs& slabs = *this;
  equation_.emplace(problem_, slabs, 4 * orbitals);
  const int spins = problem_.restricted ? 1 : 2;
  const auto spec = [&](int first, int second) {
    const bool same = first == second && !problem_.restricted;
    const auto spin_of_number = [](int s) { return s == 0 ? Spin::alpha : Spin::beta; };
    return array_spec(ArrayKind::ovov, problem_.restricted, spin_of_number(first),
                      problem_.restricted ? Spin::beta : spin_of_number(second), same);
  };
  for (int first = 0; first < spins; ++first) {
    for (int second = first; second < spins; ++second) {
      const DenseArray& all = ovov_[pair_number(first, second)];
      ArrayBox box{{},
                   all.extent,
                   {},
                   {all.values.data(), at(all.extent[0] * all.extent[1] * all.extent[2] * all.extent[3])},
                   0.0};
      equation_->add_ovov(spec(first, second), box);
    }
  }
  for (int first = 0; first < spins; ++first) {
    for (int second = 0; second < spins; ++second) {
      for (std::int64_t n = part; n < problem_.occupied[at(first)]; n += parts)
        equation_->add_orbital(first, second, n);
    }
  }
}

void BlockSingles::add_ovvv(const std::array<int, 4>& tiles, std::span<const double> block,
                            const std::array<std::size_t, 4>& axes, double sign) {
  ArrayBox box{};
  std::array<std::int64_t, 4> stride{};  // strides in the box, by axis of the block
  std::int64_t step = 1;
  for (std::size_t k = 4; k-- > 0;) {
    box.offset[k] = tiles_.offset_in_class(tiles[axes[k]]);
    box.count[k] = tiles_[tiles[axes[k]]].size;
    box.stride[k] = stride[axes[k]] = step;
    step *= box.count[k];
  }
  box_.reserve(block.size());
  scatter_block(block.data(), extents(tiles), sign, stride, box_.data());
  box.values = box_.span().first(block.size());
  const Spin first = tiles_[tiles[axes[0]]].spin(), second = tiles_[tiles[axes[3]]].spin();
  const bool antisymmetrised = !problem_.restricted && first == second;
  equation_->add_ovvv(array_spec(ArrayKind::ovvv, problem_.restricted, first, second, antisymmetrised), box);
}

void BlockSingles::read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t,
                           std::span<double> out) const {
  t2_[pair_number(u, s)].copy_slab(n, first, out);
}

void BlockSingles::read_ovov(int first, int second, std::int64_t n, std::span<double> out) const {
  ovov_[pair_number(first, second)].copy_slab(n, 0, out);
}

void BlockSingles::read_ovoo(int first, int second, std::int64_t n, std::span<double> out) const {
  ovoo_[pair_number(first, second)].copy_slab(n, 0, out);
}

void BlockSingles::read_oovv(int s, std::int64_t n, std::span<double> out) const {
  oovv_[at(s)].copy_slab(n, 0, out);
}

}
