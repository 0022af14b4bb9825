#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "cxx/base/buffer.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "tce_tiles/factor_source.hpp"

namespace trifuse {

/// Factors of integrals in rotated orbitals, all in the memory of this process: naux (v^2 + o v) doubles for each spin.
class RotatedFactors final : public FactorSource {
 public:
  /// `tiles`: of an unrestricted space. `factors`: before the rotation; must outlive this.
  RotatedFactors(const TileSpace& tiles, const FactorSource& factors);
  /// Reads the factors and rotates both orbitals of each one, on as many threads as OpenMP allows. `go_on`: called by
  /// any thread before parts of the work; it may throw to stop the rotation. The read functions require `rotate`, and
  /// throw std::logic_error before.
  void rotate(const OrbitalRotation& rotation, const std::function<void()>& go_on);

  std::int64_t auxiliary() const override { return auxiliary_; }
  void read_vv(const ClassOrbitals& p, const ClassOrbitals& d, std::span<double> out) const override;
  void read_ov(const ClassOrbitals& h, const ClassOrbitals& p, std::span<double> out) const override;
  /// Computes a block {p p|h p} of integrals in the layout of `TileSource::read_v2`. `tiles`: {g3, g4, g1, g2}.
  void read_v2(const std::array<int, 4>& tiles, std::span<double> block) const;

  /// Size of the rotated factors of a space, bytes.
  static double bytes(const TileSpace& tiles, std::int64_t auxiliary);
  /// Floating-point operations of the rotation of these factors. A multiplication and an addition count as two.
  static double operations(const TileSpace& tiles, std::int64_t auxiliary);

 private:
  /// Factors of the orbitals of one spin.
  struct OfSpin {
    Buffer vv;  ///< [p,Q,d]
    Buffer ov;  ///< [h,p,Q]
  };
  const OfSpin& of_class(OrbitalClass c) const { return spins_.at(spin_of(c)); }

  TileSpace tiles_;
  const FactorSource& factors_;
  std::int64_t auxiliary_;
  std::map<Spin, OfSpin> spins_;
};

}  // namespace trifuse
