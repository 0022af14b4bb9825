#include "cxx/rotation/rotated_factors.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/share_among_threads.hpp"
#include "cxx/base/threads.hpp"
#include "tce_tiles/factor_slabs.hpp"

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

/// Rotates the faster index of `values`, an array [rows, orbitals of class c].
void rotate_columns(const OrbitalRotation& rotation, const TileSpace& tiles, OrbitalClass c, std::int64_t rows,
                    double* values, Buffer& scratch) {
  const std::int64_t width = tiles.orbitals(c);
  const auto size = static_cast<std::size_t>(rows * width);
  scratch.reserve(size);
  std::fill_n(scratch.data(), size, 0.0);
  for (const OrbitalRotation::Run& run : rotation.runs()) {
    if (run.orbital_class != c) continue;
    const std::int64_t begin = run.offset - tiles[tiles.first(c)].offset;
    multiply_add(false, true, rows, run.size, run.size, 1.0, values + begin, width, run.vectors.data(), run.size,
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
  std::map<Spin, Buffer> rotated;
  for (const auto& [spin, hole, particle] : spins_and_classes) {
    const std::int64_t o = tiles_.orbitals(hole), v = tiles_.orbitals(particle), plane = v * auxiliary_;
    Buffer& ov = rotated[spin];
    ov = Buffer(static_cast<std::size_t>(o * plane));
    share_among_threads<Buffer>(
        static_cast<std::size_t>(o), available_threads(),
        [&, h_class = hole, p_class = particle](std::size_t n, Buffer& scratch) {
          go_on();
          const std::span<double> values =
              ov.span().subspan(n * static_cast<std::size_t>(plane), static_cast<std::size_t>(plane));
          factors_.read_ov({h_class, static_cast<std::int64_t>(n), 1}, {p_class, 0, v}, values);
          rotate_rows(rotation, tiles_, p_class, auxiliary_, 0, auxiliary_, values.data(), scratch);
        });
    rotate_all_rows(rotation, tiles_, hole, plane, ov.data(), go_on);
  }
  ov_ = std::move(rotated);
  rotation_ = &rotation;
}

void RotatedFactors::visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                              const FactorVisitor& visit) const {
  if (rotation_ == nullptr) throw std::logic_error("Factors were read before they had been rotated.");
  factors_.visit_vv(particles, begin, end, threads, [&](const FactorBand& band) {
    const std::int64_t v = band.particles, plane = v * v;
    Buffer planes(static_cast<std::size_t>(band.count * plane)), scratch;
    std::copy_n(band.planes, band.count * plane, planes.data());
    // Each plane is rotated by its own call, so that its bits do not depend on the band.
    for (std::int64_t k = 0; k < band.count; ++k) {
      rotate_columns(*rotation_, tiles_, particles, v, planes.data() + k * plane, scratch);
      rotate_rows(*rotation_, tiles_, particles, v, 0, v, planes.data() + k * plane, scratch);
    }
    visit({band.begin, band.count, v, planes.data()});
  });
}

void RotatedFactors::read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const {
  const std::int64_t v = tiles_.orbitals(p.orbital_class);
  const double* from = ov_of(h.orbital_class).data() + (h.begin * v + p.begin) * auxiliary_;
  double* to = out.data();
  for (std::int64_t n = 0; n < h.count; ++n, from += v * auxiliary_) to = std::copy_n(from, p.count * auxiliary_, to);
}

const Buffer& RotatedFactors::vv_of(OrbitalClass c) const {
  std::call_once(vv_read_, [&] {
    std::map<Spin, Buffer> read;
    std::vector<FactorSlab> slabs;
    for (const auto& [spin, hole, particle] : spins_and_classes) {
      const std::int64_t v = tiles_.orbitals(particle);
      Buffer& vv = read[spin];
      vv = Buffer(static_cast<std::size_t>(v * auxiliary_ * v));
      slabs.push_back({{particle, 0, v}, {particle, 0, v}, vv.span()});
    }
    read_slabs(*this, slabs, available_threads());
    vv_ = std::move(read);
  });
  return vv_.at(spin_of(c));
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
      const double* const vv = vv_of(of_d.orbital_class).data() + (of_y.begin + q) * auxiliary_ * vd + of_d.begin;
      for (std::int64_t h = 0; h < nh; ++h) {
        const double* const ov = ov_of(of_h.orbital_class).data() + ((of_h.begin + h) * vx + of_x.begin) * auxiliary_;
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
    doubles += static_cast<double>(auxiliary) * v * o;
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
