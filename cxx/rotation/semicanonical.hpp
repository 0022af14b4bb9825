#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "cxx/rotation/rotated_factors.hpp"
#include "cxx/rotation/rotated_tensor.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// Memory and operations of the rotation of amplitudes and integrals. They depend only on the tiles.
struct RotationCost {
  double bytes;          ///< size of T2 and V2, all ranks together
  double largest_group;  ///< bytes of the largest group that is rotated at once
  double operations;     ///< floating-point operations; a multiplication and an addition count as two
  double factor_bytes;   ///< bytes of the rotated factors that have a hole, in each rank
  /// Returns the largest amount of memory that each of `ranks` ranks needs during the rotation, bytes.
  double peak(int ranks) const;
};
/// Returns the cost of the rotation of T2 and, if `source` has integrals, of V2 or, if the integrals have factors, of
/// the factors. `opposite_spins`: see SemicanonicalSource.
RotationCost rotation_cost(const TileSource& source, bool opposite_spins = false);

/// Amplitudes and integrals in semicanonical orbitals.
///
/// For each spin and irrep the occupied and the virtual block of the Fock matrix are diagonalised. The eigenvalues are
/// the orbital energies. T1, T2, V2 and the remaining f_ov are rotated. If f_ov t2 is added to the disconnected
/// triples, the result is (T) of a reference whose orbitals are not canonical, e.g. the standard ROHF-CCSD(T) (Watts,
/// Gauss and Bartlett, J. Chem. Phys. 98, 8718 (1993)). In a restricted space both spins have the same rotation.
///
/// Call order: constructor, rotate(), read functions. Orbital energies are available before `rotate`.
class SemicanonicalSource final : public TileSource {
 public:
  /// Determines the orbitals. `source` has the amplitudes, the tiles and maybe integrals. `fock_source` has the Fock
  /// matrix, which defines the rotation. Both must outlive this object. `opposite_spins`: true if the readers need only
  /// the blocks of T2 and V2 with the spins alpha, beta, alpha, beta, as in the spin-adapted formulation. Then the
  /// other blocks are neither rotated nor readable. Throws InputError if `fock_source` has no Fock matrix.
  SemicanonicalSource(const TileSource& source, const TileSource& fock_source, bool opposite_spins = false);
  /// The same with a rotation that several sources share: that of `fock_source`.
  SemicanonicalSource(const TileSource& source, const TileSource& fock_source,
                      std::shared_ptr<OrbitalRotation> rotation, bool opposite_spins);
  ~SemicanonicalSource() override;

  /// Reads and rotates all amplitudes and integrals. A second call does nothing. Collective if `communicator` is not
  /// null. Ranks share T2 and V2 if the communicator has arrays; otherwise each rank stores all of them. Throws
  /// Interrupted soon after `*stop` becomes true on any rank; `stop` may be null.
  void rotate(Communicator* communicator, const std::atomic<bool>* stop = nullptr);
  /// The source before the rotation.
  const TileSource& source() const { return source_; }
  /// Returns the cost of `rotate`.
  const RotationCost& cost() const { return cost_; }
  /// Returns the size of the rotated T2 and V2 in this process, without factors, bytes. Requires a call of `rotate`.
  std::int64_t own_bytes() const;

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return rotation_->energies(); }
  bool has_integrals() const override { return source_.has_integrals(); }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return true; }
  bool opposite_spin_blocks_suffice() const override { return tiles().restricted(); }
  const FactorSource* factors() const override { return factors_.get(); }
  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  struct Numbers;
  const Numbers& numbers() const;

  const TileSource& source_;
  const TileSource& fock_source_;
  bool opposite_spins_;
  std::shared_ptr<OrbitalRotation> rotation_;
  RotationCost cost_;
  std::unique_ptr<RotatedFactors> factors_;  ///< null if the source has no factors
  std::unique_ptr<const Numbers> numbers_;
};

}
