#include "cxx/moments/block_arrays.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/copy_box.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/moments/made_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/tiles/blocks.hpp"

namespace trifuse::moments {

namespace {

using Four = std::array<std::int64_t, 4>;
using FourTiles = std::array<int, 4>;
/// The axes of an array that are the upper and the lower indices of a block, two each.
using Roles = std::array<std::size_t, 4>;

/// (pq|rs) or (pq|rs) - (ps|rq), and the same with q and r exchanged instead of q and s, as in asym_ovvv.
constexpr Roles direct = {0, 2, 1, 3}, direct_of_ovvv = {0, 3, 1, 2};
constexpr Roles amplitudes = {2, 3, 0, 1};

/// Reads whole arrays from blocks.
class Blocks {
 public:
  /// `header`: of the source.
  Blocks(const TileSource& source, DenseHeader header)
      : source_(source), space_(source.tiles()), header_(std::move(header)) {}

  std::int64_t orbitals(OrbitalClass c) const { return space_.orbitals(c); }

  void read_t1(OrbitalClass hole, OrbitalClass particle, double* t1) const {
    const std::int64_t particles = orbitals(particle);
    std::fill_n(t1, orbitals(hole) * particles, 0.0);
    for (int h = space_.first(hole); h < space_.last(hole); ++h) {
      for (int p = space_.first(particle); p < space_.last(particle); ++p) {
        copy_pair(TensorKind::t1, p, h, {1, particles},
                  t1 + space_.offset_in_class(h) * particles + space_.offset_in_class(p));
      }
    }
  }

  void read_fock(Spin spin, double* fock) const {
    const std::int64_t holes = orbitals(hole_class(spin)), all = holes + orbitals(particle_class(spin));
    std::vector<std::pair<int, std::int64_t>> tiles;
    for (const OrbitalClass c : {hole_class(spin), particle_class(spin)}) {
      for (int t = space_.first(c); t < space_.last(c); ++t) {
        tiles.emplace_back(t, space_.offset_in_class(t) + (space_of(c) == Space::hole ? 0 : holes));
      }
    }
    std::fill_n(fock, all * all, 0.0);
    for (const auto& [p, row] : tiles) {
      for (const auto& [q, column] : tiles) copy_pair(TensorKind::fock, p, q, {all, 1}, fock + row * all + column);
    }
  }

  void read_array(const ArraySpec& spec, double* array) const {
    const bool t2 = spec.kind == ArrayKind::t2;
    const Roles& roles = t2 ? amplitudes : spec.kind == ArrayKind::ovvv ? direct_of_ovvv : direct;
    const Four strides = strides_in(spec);
    std::fill_n(array, header_.size(spec), 0.0);
    for_tiles(spec.axes[0], spec.axes[1], spec.axes[2], [&](int p, int q, int r) {
      for (int s = space_.first(spec.axes[3]); s < space_.last(spec.axes[3]); ++s) {
        const FourTiles tiles{p, q, r, s};
        double* to = array;
        for (std::size_t k = 0; k < 4; ++k) to += space_.offset_in_class(tiles[k]) * strides[k];
        copy_block(t2 ? TensorKind::t2 : TensorKind::v2, tiles, roles, strides, to);
      }
    });
  }

  /// Writes kvvv[k,c,b,d] = sum_e t1[k,e] (ce|bd); of equal spins minus the same with c and b exchanged.
  void make_kvvv(const ArraySpec& spec, double* kvvv) const {
    const OrbitalClass hole = spec.axes[0], of_c = spec.axes[1], of_b = spec.axes[2];
    const std::int64_t holes = orbitals(hole), particles = orbitals(of_c);
    const Four strides = strides_in(spec);
    std::fill_n(kvvv, header_.size(spec), 0.0);
    Buffer t1(static_cast<std::size_t>(holes * particles));
    read_t1(hole, of_c, t1.data());
    const int threads = available_threads();
    const Terms terms(contract_on_cores(threads), threads);
    for_tiles(of_c, of_b, of_b, [&](int c, int b, int d) {
      const Four some{size(c), particles, size(b), size(d)};
      Buffer integrals;
      if (!copy_first_pairs(c, b, d, integrals)) return;
      const Four found{holes, size(c), size(b), size(d)};
      Buffer products = zeros(found);
      terms.add(Result{products.data(), {found.begin(), found.end()}}, "ke,cebd->kcbd", 1.0,
                ArrayView(t1.data(), {holes, particles}), ArrayView(integrals.data(), {some.begin(), some.end()}));
      double* const to = kvvv + space_.offset_in_class(c) * strides[1] + space_.offset_in_class(b) * strides[2] +
                         space_.offset_in_class(d);
      copy_box(found, products.data(), strides_of(found), to, strides, 1.0);
    });
  }

  /// Writes (aa|bb) and, if there is a second matrix, (ab|ab). Of two equal spins the first one is the difference, and
  /// the second one is zero.
  void make_diagonals(const ArraySpec& spec, double* matrices) const {
    const OrbitalClass of_a = spec.axes[0], of_b = spec.axes[1];
    const std::int64_t row = orbitals(of_b), matrix = orbitals(of_a) * row;
    std::fill_n(matrices, spec.matrices * matrix, 0.0);
    for (int a = space_.first(of_a); a < space_.last(of_a); ++a) {
      for (int b = space_.first(of_b); b < space_.last(of_b); ++b) {
        double* const to = matrices + space_.offset_in_class(a) * row + space_.offset_in_class(b);
        copy_diagonal({a, a, b, b}, {0, 2}, row, to);
        if (!space_.restricted()) continue;
        // The tiles of beta have the orbitals of those of alpha.
        const int other = space_.first(of_b) - space_.first(of_a);
        copy_diagonal({a, b - other, a + other, b}, {0, 1}, row, to + matrix);
      }
    }
  }

  /// Writes the same for other orbitals: U[x,c] U[x,e] U[y,b] U[y,d] (ce|bd), and, if there is a second matrix, with b
  /// and e exchanged in U.
  void make_diagonals(const ArraySpec& spec, const OrbitalVectors& vectors, double* matrices) const {
    const OrbitalClass of_a = spec.axes[0], of_b = spec.axes[1];
    const std::int64_t rows = orbitals(of_a), columns = orbitals(of_b);
    std::fill_n(matrices, spec.matrices * rows * columns, 0.0);
    const Spin second = space_.restricted() ? Spin::alpha : spin_of(of_b);
    const std::vector<double> first_pairs = pairs_of(vectors.particles[spin_of(of_a)], rows),
                              second_pairs = pairs_of(vectors.particles[second], columns);
    const ArrayView of_first(first_pairs.data(), {rows, rows, rows}),
        of_second(second_pairs.data(), {columns, columns, columns});
    const Result coulomb{matrices, {rows, columns}}, exchange{matrices + rows * columns, {rows, columns}};
    const int threads = available_threads();
    const Terms terms(contract_on_cores(threads), threads);
    for_tiles(of_a, of_b, of_b, [&](int c, int b, int d) {
      Buffer integrals;
      const Four some{size(c), rows, size(b), size(d)};
      if (!copy_first_pairs(c, b, d, integrals)) return;
      const ArrayView cebd(integrals.data(), {some.begin(), some.end()});
      const auto begin = [&](int tile) { return space_.offset_in_class(tile); };
      const auto part = [&](ArrayView view, std::int64_t p, std::int64_t p_count, std::int64_t q,
                            std::int64_t q_count) {
        view.first += p * view.strides[1] + q * view.strides[2];
        view.extents[1] = p_count;
        view.extents[2] = q_count;
        return view;
      };
      OwnedArray half = terms.make({rows, some[2], some[3]});
      terms.add(half.result(), "xce,cebd->xbd", 1.0, part(of_first, begin(c), some[0], 0, rows), cebd);
      terms.add(coulomb, "xbd,ybd->xy", 1.0, half.view(), part(of_second, begin(b), some[2], begin(d), some[3]));
      if (!space_.restricted()) return;
      OwnedArray other = terms.make({rows, some[1], some[3]});
      terms.add(other.result(), "xcb,cebd->xed", 1.0, part(of_first, begin(c), some[0], begin(b), some[2]), cebd);
      terms.add(exchange, "xed,yed->xy", 1.0, other.view(), part(of_second, 0, columns, begin(d), some[3]));
    });
  }

 private:
  /// Returns u[x,p] u[x,q].
  static std::vector<double> pairs_of(const std::vector<double>& u, std::int64_t count) {
    std::vector<double> pairs;
    pairs.reserve(u.size() * static_cast<std::size_t>(count));
    for (auto row = u.begin(); row != u.end(); row += count) {
      for (std::int64_t p = 0; p < count; ++p) {
        for (std::int64_t q = 0; q < count; ++q) pairs.push_back(row[p] * row[q]);
      }
    }
    return pairs;
  }
  /// Copies (ce|bd) of all e, [c,e,b,d]. Returns false if no block exists.
  bool copy_first_pairs(int c, int b, int d, Buffer& integrals) const {
    const OrbitalClass of_c = space_[c].orbital_class;
    const Four some{size(c), orbitals(of_c), size(b), size(d)}, place = strides_of(some);
    integrals = zeros(some);
    bool any = false;
    for (int e = space_.first(of_c); e < space_.last(of_c); ++e) {
      double* const to = integrals.data() + space_.offset_in_class(e) * place[1];
      any = copy_block(TensorKind::v2, {c, e, b, d}, direct, place, to) || any;
    }
    return any;
  }
  std::int64_t size(int tile) const { return space_[tile].size; }
  Four sizes(const FourTiles& tiles) const { return {size(tiles[0]), size(tiles[1]), size(tiles[2]), size(tiles[3])}; }
  /// Returns the strides of a whole array of rank 4.
  Four strides_in(const ArraySpec& spec) const {
    Four shape{};
    std::ranges::copy(header_.shape(spec), shape.begin());
    return strides_of(shape);
  }

  /// Calls `use` with all triples of tiles of these classes.
  template <typename Use>
  void for_tiles(OrbitalClass x, OrbitalClass y, OrbitalClass z, const Use& use) const {
    for (int p = space_.first(x); p < space_.last(x); ++p) {
      for (int q = space_.first(y); q < space_.last(y); ++q) {
        for (int r = space_.first(z); r < space_.last(z); ++r) use(p, q, r);
      }
    }
  }

  static Buffer zeros(const Four& shape) { return Buffer::zeros(static_cast<std::size_t>(elements_of(shape))); }
  std::span<double> buffer(std::int64_t count) const {
    thread_local Buffer read;
    read.reserve(static_cast<std::size_t>(count));
    return read.span().first(static_cast<std::size_t>(count));
  }

  /// Copies a block of F1 or T1, [upper,lower], if it exists. `strides`: of both indices in `to`.
  void copy_pair(TensorKind kind, int upper, int lower, const std::array<std::int64_t, 2>& strides, double* to) const {
    if (!block_exists(space_, upper, lower)) return;
    const std::span<double> block = buffer(size(upper) * size(lower));
    source_.read_block(kind, {upper, lower}, block);
    copy_box({1, 1, size(upper), size(lower)}, block.data(), {0, 0, size(lower), 1}, to, {0, 0, strides[0], strides[1]},
             1.0);
  }

  /// Copies a block of T2 or V2. Returns false if it does not exist. `tiles`, `strides`: of the axes of an array.
  bool copy_block(TensorKind kind, const FourTiles& tiles, Roles roles, const Four& strides, double* to) const {
    double sign = 1.0;
    for (const std::size_t pair : {std::size_t{0}, std::size_t{2}}) {
      if (tiles[roles[pair]] <= tiles[roles[pair + 1]]) continue;
      std::swap(roles[pair], roles[pair + 1]);
      sign = -sign;
    }
    FourTiles of_block{};
    Four to_strides{};
    for (std::size_t n = 0; n < 4; ++n) {
      of_block[n] = tiles[roles[n]];
      to_strides[n] = strides[roles[n]];
    }
    if (!block_exists(space_, of_block[0], of_block[1], of_block[2], of_block[3])) return false;
    const Four count = sizes(of_block), from_strides = strides_of(count);
    const std::span<double> block = buffer(count[0] * from_strides[0]);
    source_.read_block(kind, of_block, block);
    copy_box(count, block.data(), from_strides, to, to_strides, sign);
    return true;
  }

  /// Copies the elements (aa|bb), if `axes` are 0 and 2, or (ab|ab), if they are 0 and 1: the axes of the first a and
  /// b. `tiles`: of the four axes.
  void copy_diagonal(const FourTiles& tiles, const std::array<std::size_t, 2>& axes, std::int64_t row,
                     double* to) const {
    const Four count = sizes(tiles), strides = strides_of(count);
    Buffer integrals = zeros(count);
    if (!copy_block(TensorKind::v2, tiles, direct, strides, integrals.data())) return;
    const std::int64_t b_stride = strides[axes[1]] + strides[3];
    const std::int64_t a_stride = strides[0] + strides[1] + strides[2] + strides[3] - b_stride;
    for (std::int64_t a = 0; a < count[axes[0]]; ++a) {
      for (std::int64_t b = 0; b < count[axes[1]]; ++b) {
        to[a * row + b] = integrals.data()[a * a_stride + b * b_stride];
      }
    }
  }

  const TileSource& source_;
  const TileSpace& space_;
  DenseHeader header_;
};

DenseHeader header_of(const TileSource& source) {
  const TileSpace& space = source.tiles();
  DenseHeader header;
  header.info = source.info();
  header.restricted = space.restricted();
  unsigned seen = 0;
  for (const Tile& tile : space.tiles()) {
    const auto c = static_cast<std::size_t>(tile.orbital_class);
    const auto energies =
        source.orbital_energies().subspan(static_cast<std::size_t>(tile.offset), static_cast<std::size_t>(tile.size));
    header.energies[c].insert(header.energies[c].end(), energies.begin(), energies.end());
    header.irreps[c].insert(header.irreps[c].end(), energies.size(), tile.irrep);
    seen |= 1U << static_cast<unsigned>(tile.irrep);
  }
  header.symmetry = (seen & (seen - 1)) != 0;
  return header;
}

}

DenseInput arrays_of_blocks(const TileSource& source, const OrbitalsToBe& semicanonical) {
  DenseInput input;
  input.header = header_of(source);
  const Blocks blocks(source, input.header);
  const bool restricted = input.header.restricted;
  auto arrays = std::make_shared<MadeArrays>(source.info().path, ArrayWords{"tensor", "write", "calculation", "file"});
  for (const auto& specs : {amplitude_arrays(restricted), integral_arrays(restricted), exchange_arrays(restricted),
                            moment_arrays(restricted)}) {
    for (const ArraySpec& plain : specs) {
      if (plain.kind == ArrayKind::vvvv_diag_semicanonical && !semicanonical) continue;
      if (plain.kind == ArrayKind::ladder || input.header.size(plain) == 0) continue;
      const ArraySpec spec = restricted ? plain : antisymmetrised_alternative(plain).value_or(plain);
      arrays->add(spec.name, input.header.shape(spec), [=](double* elements) {
        if (spec.kind == ArrayKind::t1) return blocks.read_t1(spec.axes[0], spec.axes[1], elements);
        if (spec.kind == ArrayKind::kvvv) return blocks.make_kvvv(spec, elements);
        if (spec.kind == ArrayKind::vvvv_diag) return blocks.make_diagonals(spec, elements);
        if (are_diagonals(spec.kind)) return blocks.make_diagonals(spec, semicanonical(), elements);
        return blocks.read_array(spec, elements);
      });
    }
  }
  for (const Spin spin : both_spins) {
    if (!source.has_fock() || (restricted && spin == beta)) continue;
    const std::int64_t all = blocks.orbitals(hole_class(spin)) + blocks.orbitals(particle_class(spin));
    arrays->add(fock_dataset(spin, restricted), {all, all}, [=](double* fock) { blocks.read_fock(spin, fock); });
  }
  input.arrays = std::move(arrays);
  return input;
}

}
