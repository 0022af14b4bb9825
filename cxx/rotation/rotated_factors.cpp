#include "cxx/rotation/rotated_factors.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"

namespace trifuse {

namespace {

struct SpinClasses {
  Spin spin;
  OrbitalClass hole, particle;
};
constexpr std::array<SpinClasses, 2> spins_and_classes = {
    {{Spin::alpha, OrbitalClass::hole_alpha, OrbitalClass::particle_alpha},
     {Spin::beta, OrbitalClass::hole_beta, OrbitalClass::particle_beta}}};

/// Returns the spins whose factors are stored. In a restricted space the factors of beta orbitals are those of alpha
/// orbitals.
std::span<const SpinClasses> stored_spins(const TileSpace& tiles) {
  return std::span(spins_and_classes).first(tiles.restricted() ? 1 : 2);
}

/// Returns the class whose factors are stored for class `c`: alpha instead of beta in a restricted space.
OrbitalClass stored_class(const TileSpace& tiles, OrbitalClass c) {
  if (!tiles.restricted()) return c;
  return space_of(c) == Space::hole ? OrbitalClass::hole_alpha : OrbitalClass::particle_alpha;
}

/// Rotates the orbitals of one class in columns [begin, begin + count) of `values`, an array [orbital, width].
void rotate_rows(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t width,
                 std::int64_t begin, std::int64_t count, double* values, Buffer& scratch) {
  for (const OrbitalRotation::Range& range : rotation.ranges()) {
    if (range.orbital_class != c) continue;
    double* const first = values + (range.offset - tiles[tiles.first(c)].offset) * width + begin;
    scratch.reserve(static_cast<std::size_t>(range.size * count));
    std::fill_n(scratch.data(), range.size * count, 0.0);
    multiply_add(false, false, range.size, count, range.size, 1.0, range.vectors.data(), range.size, first, width,
                 scratch.data(), count);
    for (std::int64_t n = 0; n < range.size; ++n) std::copy_n(scratch.data() + n * count, count, first + n * width);
  }
}

/// Rotates the faster index of `values`, an array [rows, orbitals of class c].
void rotate_columns(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t rows,
                    double* values, Buffer& scratch) {
  const std::int64_t width = tiles.orbitals(c);
  const auto size = static_cast<std::size_t>(rows * width);
  scratch.reserve(size);
  std::fill_n(scratch.data(), size, 0.0);
  for (const OrbitalRotation::Range& range : rotation.ranges()) {
    if (range.orbital_class != c) continue;
    const std::int64_t begin = range.offset - tiles[tiles.first(c)].offset;
    multiply_add(false, true, rows, range.size, range.size, 1.0, values + begin, width, range.vectors.data(),
                 range.size, scratch.data() + begin, width);
  }
  std::copy_n(scratch.data(), size, values);
}

/// Rotates the orbitals of one class in an array [orbital, width], on all threads. The array is divided among the
/// threads in parts that do not depend on their number, so the bits do not either.
void rotate_all_rows(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t width,
                     double* values, const std::function<void()>& go_on) {
  constexpr std::int64_t at_once = 1024;
  const auto parts = static_cast<std::size_t>((width + at_once - 1) / at_once);
  share_among_threads<Buffer>(parts, available_threads(), [&](std::size_t n, Buffer& scratch) {
    go_on();
    const std::int64_t begin = static_cast<std::int64_t>(n) * at_once;
    rotate_rows(rotation, tiles, c, width, begin, std::min(at_once, width - begin), values, scratch);
  });
}

}

RotatedFactors::RotatedFactors(const TileSpace& tiles, const FactorSource& factors)
    : tiles_(tiles), factors_(factors), auxiliary_(factors.auxiliary()) {}

void RotatedFactors::rotate(const OrbitalRotation& rotation, const std::function<void()>& go_on) {
  use_single_threaded_blas();
  std::map<std::pair<OrbitalClass, OrbitalClass>, Buffer> rotated;
  // Reads and rotates the factors of a class of holes and the orbitals of another class.
  const auto add = [&](OrbitalClass hole, OrbitalClass other, const auto& read) {
    const std::int64_t o = tiles_.orbitals(hole), count = tiles_.orbitals(other), plane = count * auxiliary_;
    Buffer& factors = rotated[{hole, other}];
    factors = Buffer(static_cast<std::size_t>(o * plane));
    share_among_threads<Buffer>(static_cast<std::size_t>(o), available_threads(), [&](std::size_t n, Buffer& scratch) {
      go_on();
      const std::span<double> values =
          factors.span().subspan(n * static_cast<std::size_t>(plane), static_cast<std::size_t>(plane));
      read(ClassOrbitals{hole, static_cast<std::int64_t>(n), 1}, ClassOrbitals{other, 0, count}, values);
      rotate_rows(rotation, tiles_, other, auxiliary_, 0, auxiliary_, values.data(), scratch);
    });
    rotate_all_rows(rotation, tiles_, hole, plane, factors.data(), go_on);
  };
  for (const auto& [spin, hole, particle] : stored_spins(tiles_)) {
    add(hole, hole,
        [&](const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) { factors_.read_oo(i, j, out); });
    add(hole, particle,
        [&](const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) { factors_.read_ov(h, p, out); });
  }
  of_holes_ = std::move(rotated);
  rotation_ = &rotation;
}

void RotatedFactors::visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                              const FactorVisitor& visit) const {
  if (rotation_ == nullptr) throw std::logic_error("Factors were read before they had been rotated.");
  const OrbitalClass stored = stored_class(tiles_, particles);
  factors_.visit_vv(stored, begin, end, threads, [&](const FactorBand& band) {
    const std::int64_t v = band.particles, plane = v * v;
    Buffer planes(static_cast<std::size_t>(band.count * plane)), scratch;
    std::copy_n(band.planes, band.count * plane, planes.data());
    // Each plane is rotated by its own call, so that its bits do not depend on the band.
    for (std::int64_t k = 0; k < band.count; ++k) {
      rotate_columns(*rotation_, tiles_, stored, v, planes.data() + k * plane, scratch);
      rotate_rows(*rotation_, tiles_, stored, v, 0, v, planes.data() + k * plane, scratch);
    }
    visit({band.begin, band.count, v, planes.data()});
  });
}

void RotatedFactors::read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const {
  copy_rows(i, j, out);
}

void RotatedFactors::read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const {
  copy_rows(h, p, out);
}

void RotatedFactors::copy_rows(const ClassOrbitals& h, const ClassOrbitals& q, std::span<double> out) const {
  if (rotation_ == nullptr) throw std::logic_error("Factors were read before they had been rotated.");
  const std::int64_t row = tiles_.orbitals(q.orbital_class) * auxiliary_;
  const Buffer& factors = of_holes_.at({stored_class(tiles_, h.orbital_class), stored_class(tiles_, q.orbital_class)});
  const double* from = factors.data() + h.begin * row + q.begin * auxiliary_;
  double* to = out.data();
  for (std::int64_t n = 0; n < h.count; ++n, from += row) to = std::copy_n(from, q.count * auxiliary_, to);
}

const Buffer& RotatedFactors::vv_of(OrbitalClass c) const {
  std::call_once(vv_read_, [&] {
    std::map<Spin, Buffer> read;
    std::vector<FactorSlab> slabs;
    for (const auto& [spin, hole, particle] : stored_spins(tiles_)) {
      const std::int64_t v = tiles_.orbitals(particle);
      Buffer& vv = read[spin];
      vv = Buffer(static_cast<std::size_t>(v * auxiliary_ * v));
      slabs.push_back({{particle, 0, v}, {particle, 0, v}, vv.span()});
    }
    read_slabs(*this, slabs, available_threads());
    vv_ = std::move(read);
  });
  return vv_.at(spin_of(stored_class(tiles_, c)));
}

Buffer RotatedFactors::of_tiles(const Tile& x, const Tile& y) const {
  const ClassOrbitals of_x = orbitals_of(tiles_, x), of_y = orbitals_of(tiles_, y);
  Buffer rows(static_cast<std::size_t>(x.size * y.size * auxiliary_));
  if (x.space() == Space::hole) {
    copy_rows(of_x, of_y, rows.span());
    return rows;
  }
  double* to = rows.data();
  if (y.space() == Space::hole) {  // the factors are symmetric, and the hole is the first index of stored ones
    const Buffer stored = of_tiles(y, x);
    for (std::int64_t i = 0; i < x.size; ++i) {
      for (std::int64_t j = 0; j < y.size; ++j) {
        to = std::copy_n(stored.data() + (j * x.size + i) * auxiliary_, auxiliary_, to);
      }
    }
    return rows;
  }
  const std::int64_t v = tiles_.orbitals(x.orbital_class);
  const double* const vv = vv_of(x.orbital_class).data() + of_x.begin * auxiliary_ * v + of_y.begin;
  for (std::int64_t i = 0; i < x.size; ++i) {
    for (std::int64_t j = 0; j < y.size; ++j) {
      for (std::int64_t q = 0; q < auxiliary_; ++q) *to++ = vv[(i * auxiliary_ + q) * v + j];
    }
  }
  return rows;
}

void RotatedFactors::read_v2(const std::array<int, 4>& tiles, std::span<double> block) const {
  std::fill(block.begin(), block.end(), 0.0);
  const std::array<Tile, 4> tile{tiles_[tiles[0]], tiles_[tiles[1]], tiles_[tiles[2]], tiles_[tiles[3]]};
  const std::int64_t n1 = tile[1].size, n2 = tile[2].size, n3 = tile[3].size;
  // Adds sign * (g3 x|g4 y) to the block. `x`, `y`: positions 2 and 3, in either order.
  const auto add = [&](std::size_t x, std::size_t y, double sign) {
    const Buffer first = of_tiles(tile[0], tile[x]), second = of_tiles(tile[1], tile[y]);
    const std::int64_t rows = tile[0].size * tile[x].size, columns = tile[1].size * tile[y].size;
    Buffer product = Buffer::zeros(static_cast<std::size_t>(rows * columns));
    multiply_add(false, true, rows, columns, auxiliary_, sign, first.data(), second.data(), product.data());
    const double* from = product.data();
    for (std::int64_t g3 = 0; g3 < tile[0].size; ++g3) {
      for (std::int64_t i = 0; i < tile[x].size; ++i) {
        for (std::int64_t g4 = 0; g4 < n1; ++g4) {
          for (std::int64_t j = 0; j < tile[y].size; ++j) {
            const auto [g1, g2] = x == 2 ? std::pair{i, j} : std::pair{j, i};
            block[static_cast<std::size_t>(((g3 * n1 + g4) * n2 + g1) * n3 + g2)] += *from++;
          }
        }
      }
    }
  };
  if (tile[0].spin() == tile[2].spin()) add(2, 3, +1.0);
  if (tile[0].spin() == tile[3].spin()) add(3, 2, -1.0);
}

double RotatedFactors::bytes(const TileSpace& tiles, std::int64_t auxiliary) {
  double doubles = 0.0;
  for (const auto& [spin, hole, particle] : stored_spins(tiles)) {
    const auto o = static_cast<double>(tiles.orbitals(hole)), v = static_cast<double>(tiles.orbitals(particle));
    doubles += static_cast<double>(auxiliary) * o * (o + v);
  }
  return doubles * sizeof(double);
}

double RotatedFactors::operations(const TileSpace& tiles, std::int64_t auxiliary) {
  double operations = 0.0;
  for (const auto& [spin, hole, particle] : stored_spins(tiles)) {
    const auto o = static_cast<double>(tiles.orbitals(hole)), v = static_cast<double>(tiles.orbitals(particle));
    const auto rotate = [&](OrbitalClass c, double others) {
      for (int irrep = 0; irrep < 8; ++irrep) {
        const auto n = static_cast<double>(tiles.range(c, irrep).size);
        operations += 2.0 * static_cast<double>(auxiliary) * n * n * others;
      }
    };
    rotate(particle, 2.0 * v + o);
    rotate(hole, 2.0 * o + v);
  }
  return operations;
}

}
