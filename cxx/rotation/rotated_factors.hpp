#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "cxx/base/buffer.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// Factors of integrals in rotated orbitals. The factors that have a hole are in the memory of this process: naux o (o
/// + v) doubles for each spin, in a restricted space for one spin only. The factors of two particles are rotated when
/// they are read, band by band.
class RotatedFactors final : public FactorSource {
 public:
  /// `tiles`: the tiles of the orbitals. `factors`: the factors before the rotation; must outlive this.
  RotatedFactors(const TileSpace& tiles, const FactorSource& factors);
  /// Reads the factors that have a hole and rotates both orbitals of each one, on as many threads as OpenMP allows.
  /// `rotation` must outlive this. `go_on` is called by any thread before each part of the work; it may throw to stop
  /// the rotation. The read functions throw std::logic_error if `rotate` was not called before.
  void rotate(const OrbitalRotation& rotation, const std::function<void()>& go_on);

  std::int64_t auxiliary() const override { return auxiliary_; }
  void read_oo(const ClassOrbitals& i, const ClassOrbitals& j, std::span<double> out) const override;
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override;
  void visit_vv(OrbitalClass particles, std::int64_t begin, std::int64_t end, int threads,
                const FactorVisitor& visit) const override;
  /// Computes a block of integrals in the layout of `TileSource::read_v2`. The first call for a block {p p|h p} takes
  /// the rotated factors of two particles into memory: naux v^2 doubles for each spin. `tiles`: {g3, g4, g1, g2}.
  void read_v2(const std::array<int, 4>& tiles, std::span<double> block) const;

  /// Returns the size of the rotated factors of a space that have a hole, bytes.
  static double bytes(const TileSpace& tiles, std::int64_t auxiliary);
  /// Returns the floating-point operations of the rotation of these factors. A multiplication and an addition count as
  /// two.
  static double operations(const TileSpace& tiles, std::int64_t auxiliary);

 private:
  /// Copies rotated factors of a hole and another orbital to `out` [h,q,Q].
  void copy_rows(const ClassOrbitals& h, const ClassOrbitals& q, std::span<double> out) const;
  /// Returns the rotated factors of two particles, [p,Q,d].
  const Buffer& vv_of(OrbitalClass c) const;
  /// Returns the factors of two tiles of one spin, [x,y,Q].
  Buffer of_tiles(const Tile& x, const Tile& y) const;

  TileSpace tiles_;
  const FactorSource& factors_;
  std::int64_t auxiliary_;
  const OrbitalRotation* rotation_ = nullptr;
  std::map<std::pair<OrbitalClass, OrbitalClass>, Buffer> of_holes_;  ///< [h,q,Q], by the classes of h and q
  mutable std::once_flag vv_read_;
  mutable std::map<Spin, Buffer> vv_;  ///< empty before the first read_v2()
};

}
