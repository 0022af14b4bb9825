#include "cxx/rotation/rotated_factors.hpp"

#include <algorithm>
#include <utility>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"

namespace trifuse {

namespace {

struct SpinClasses {
  Spin spin;
  OrbitalClass hole, particle;
};
constexpr std::array<SpinClasses, 2> spins_and_classes = {
    {{Spin::alpha, OrbitalClass::hole_alpha, OrbitalClass::particle_alpha},
     {Spin::beta, OrbitalClass::hole_beta, OrbitalClass::particle_beta}}};

/// Rotates the orbitals of one class in `values`, an array [orbital, width]. Elements [begin, begin + count) of each
/// row are rotated.
void rotate_rows(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t width,
                 std::int64_t begin, std::int64_t count, double* values, Buffer& scratch) {
  for (const OrbitalRotation::Run& run : rotation.runs()) {
    if (run.orbital_class != c) continue;
    double* const first = values + (run.offset - tiles[tiles.first(c)].offset) * width + begin;
    scratch.reserve(static_cast<std::size_t>(run.size * count));
    std::fill_n(scratch.data(), run.size * count, 0.0);
    multiply_add(false, false, run.size, count, run.size, 1.0, run.vectors.data(), run.size, first, width,
                 scratch.data(), count);
    for (std::int64_t n = 0; n < run.size; ++n) std::copy_n(scratch.data() + n * count, count, first + n * width);
  }
}

/// Rotates the faster index of `values`, an array [Q, orbitals of class c].
void rotate_columns(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t auxiliary,
                    double* values, Buffer& scratch) {
  const std::int64_t width = tiles.orbitals(c);
  const auto size = static_cast<std::size_t>(auxiliary * width);
  scratch.reserve(size);
  std::fill_n(scratch.data(), size, 0.0);
  for (const OrbitalRotation::Run& run : rotation.runs()) {
    if (run.orbital_class != c) continue;
    const std::int64_t begin = run.offset - tiles[tiles.first(c)].offset;
    multiply_add(false, true, auxiliary, run.size, run.size, 1.0, values + begin, width, run.vectors.data(), run.size,
                 scratch.data() + begin, width);
  }
  std::copy_n(scratch.data(), size, values);
}

/// Rotates the orbitals of one class in an array [orbital, width], on all threads. The parts of the threads and so the
/// bits do not depend on their number.
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

}  // namespace

RotatedFactors::RotatedFactors(const TileSpace& tiles, const FactorSource& factors)
    : tiles_(tiles), factors_(factors), auxiliary_(factors.auxiliary()) {}

void RotatedFactors::rotate(const OrbitalRotation& rotation, const std::function<void()>& go_on) {
  use_single_threaded_blas();
  std::map<Spin, OfSpin> spins;
  for (const auto& [spin, hole, particle] : spins_and_classes) {
    const std::int64_t o = tiles_.orbitals(hole), v = tiles_.orbitals(particle);
    const std::int64_t vv_plane = auxiliary_ * v, ov_plane = v * auxiliary_;
    OfSpin& of = spins[spin];
    of.vv = Buffer(static_cast<std::size_t>(v * vv_plane));
    of.ov = Buffer(static_cast<std::size_t>(o * ov_plane));
    share_among_threads<Buffer>(
        static_cast<std::size_t>(v), available_threads(), [&, p_class = particle](std::size_t n, Buffer& scratch) {
          go_on();
          const std::span<double> plane =
              of.vv.span().subspan(n * static_cast<std::size_t>(vv_plane), static_cast<std::size_t>(vv_plane));
          factors_.read_vv({p_class, static_cast<std::int64_t>(n), 1}, {p_class, 0, v}, plane);
          rotate_columns(rotation, tiles_, p_class, auxiliary_, plane.data(), scratch);
        });
    rotate_all_rows(rotation, tiles_, particle, vv_plane, of.vv.data(), go_on);
    share_among_threads<Buffer>(
        static_cast<std::size_t>(o), available_threads(),
        [&, h_class = hole, p_class = particle](std::size_t n, Buffer& scratch) {
          go_on();
          const std::span<double> plane =
              of.ov.span().subspan(n * static_cast<std::size_t>(ov_plane), static_cast<std::size_t>(ov_plane));
          factors_.read_ov({h_class, static_cast<std::int64_t>(n), 1}, {p_class, 0, v}, plane);
          rotate_rows(rotation, tiles_, p_class, auxiliary_, 0, auxiliary_, plane.data(), scratch);
        });
    rotate_all_rows(rotation, tiles_, hole, ov_plane, of.ov.data(), go_on);
  }
  spins_ = std::move(spins);
}

void RotatedFactors::read_vv(const ClassOrbitals& p, const ClassOrbitals& d, std::span<double> out) const {
  const std::int64_t v = tiles_.orbitals(d.orbital_class);
  const double* from = of_class(p.orbital_class).vv.data() + p.begin * auxiliary_ * v + d.begin;
  double* to = out.data();
  for (std::int64_t n = 0; n < p.count * auxiliary_; ++n, from += v) to = std::copy_n(from, d.count, to);
}

void RotatedFactors::read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const {
  const std::int64_t v = tiles_.orbitals(p.orbital_class);
  const double* from = of_class(h.orbital_class).ov.data() + (h.begin * v + p.begin) * auxiliary_;
  double* to = out.data();
  for (std::int64_t n = 0; n < h.count; ++n, from += v * auxiliary_) to = std::copy_n(from, p.count * auxiliary_, to);
}

void RotatedFactors::read_v2(const std::array<int, 4>& tiles, std::span<double> block) const {
  std::fill(block.begin(), block.end(), 0.0);
  const std::array<Tile, 4> tile{tiles_[tiles[0]], tiles_[tiles[1]], tiles_[tiles[2]], tiles_[tiles[3]]};
  const std::int64_t nh = tile[2].size, nd = tile[3].size;
  const std::array<std::int64_t, 2> stride{tile[1].size * nh * nd, nh * nd};
  // Adds sign * (x h|y d) to the block [g3,g4,h,d]. `x`, `y`: positions of the particles.
  const auto add = [&](std::size_t x, std::size_t y, double sign) {
    const ClassOrbitals of_x = orbitals_of(tiles_, tile[x]), of_y = orbitals_of(tiles_, tile[y]),
                        of_h = orbitals_of(tiles_, tile[2]), of_d = orbitals_of(tiles_, tile[3]);
    const std::int64_t vx = tiles_.orbitals(of_x.orbital_class), vd = tiles_.orbitals(of_d.orbital_class);
    for (std::int64_t q = 0; q < of_y.count; ++q) {
      const double* const vv = of_class(of_d.orbital_class).vv.data() + (of_y.begin + q) * auxiliary_ * vd + of_d.begin;
      for (std::int64_t h = 0; h < nh; ++h) {
        const double* const ov =
            of_class(of_h.orbital_class).ov.data() + ((of_h.begin + h) * vx + of_x.begin) * auxiliary_;
        multiply_add(false, false, of_x.count, nd, auxiliary_, sign, ov, auxiliary_, vv, vd,
                     block.data() + q * stride[y] + h * nd, stride[x]);
      }
    }
  };
  if (tile[0].spin() == tile[2].spin()) add(0, 1, +1.0);
  if (tile[0].spin() == tile[3].spin()) add(1, 0, -1.0);
}

double RotatedFactors::bytes(const TileSpace& tiles, std::int64_t auxiliary) {
  double doubles = 0.0;
  for (const auto& [spin, hole, particle] : spins_and_classes) {
    const auto o = static_cast<double>(tiles.orbitals(hole)), v = static_cast<double>(tiles.orbitals(particle));
    doubles += static_cast<double>(auxiliary) * v * (v + o);
  }
  return doubles * sizeof(double);
}

double RotatedFactors::operations(const TileSpace& tiles, std::int64_t auxiliary) {
  double operations = 0.0;
  for (const auto& [spin, hole, particle] : spins_and_classes) {
    const auto o = static_cast<double>(tiles.orbitals(hole)), v = static_cast<double>(tiles.orbitals(particle));
    const auto rotate = [&](OrbitalClass c, double others) {
      for (int irrep = 0; irrep < 8; ++irrep) {
        const auto n = static_cast<double>(tiles.range(c, irrep).size);
        operations += 2.0 * static_cast<double>(auxiliary) * n * n * others;
      }
    };
    rotate(particle, 2.0 * v + o);
    rotate(hole, v);
  }
  return operations;
}

}  // namespace trifuse
