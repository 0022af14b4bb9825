#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cxx/base/communicator.hpp"
#include "cxx/rotation/orbital_rotation.hpp"
#include "cxx/rotation/rotated_tensor.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// What rotating amplitudes and integrals takes: known from the tiles alone.
struct RotationCost {
  double bytes;         ///< of T2 and V2, in all processes that share them
  double largest_unit;  ///< bytes of what is rotated at once, at most
  double operations;    ///< of the matrix products, a multiply and an add counted as two
  /// Bytes that each of so many processes that share them needs at most while they rotate.
  double peak(int ranks) const;
};
RotationCost rotation_cost(const TileSource& source);

/// Amplitudes and integrals in semicanonical orbitals: the occupied and the virtual block of each spin's Fock matrix
/// are diagonalised irrep by irrep, orbital energies are the eigenvalues, and T1, T2, V2 and the remaining f_ov are
/// rotated. With f_ov t2 added to the disconnected triples this gives the standard ROHF-CCSD(T) (Watts, Gauss and
/// Bartlett, J. Chem. Phys. 98, 8718 (1993)).
class SemicanonicalSource final : public TileSource {
 public:
  /// Finds the orbitals. The Fock matrix, and so the rotation, comes from `fock_source`; amplitudes are those of
  /// `source`, integrals too where it has them, and so are the tiles. Both must outlive this. Throws InputError without
  /// a Fock matrix.
  SemicanonicalSource(const TileSource& source, const TileSource& fock_source);
  ~SemicanonicalSource() override;

  /// Reads and rotates everything, before which there are orbital energies only: collective where there is a team. Its
  /// ranks share T2 and V2 where they have arrays; else each has all of them. Where it has been done nothing happens.
  /// Throws Interrupted soon after `stop`, which may be null, has become true on any rank.
  void rotate(Communicator* communicator, const std::atomic<bool>* stop = nullptr);
  const RotationCost& cost() const { return cost_; }
  /// Of T2 and V2 in this process, once they have been rotated.
  std::int64_t own_bytes() const;

  const SourceInfo& info() const override { return source_.info(); }
  const TileSpace& tiles() const override { return source_.tiles(); }
  std::span<const double> orbital_energies() const override { return rotation_.energies(); }
  bool has_integrals() const override { return source_.has_integrals(); }
  bool has_fock() const override { return true; }
  bool concurrent_reads() const override { return true; }
  void read_fock(int g6, int g5, std::span<double> block) const override;
  void read_t1(int p, int h, std::span<double> block) const override;
  void read_t2(int p1, int p2, int h3, int h4, std::span<double> block) const override;
  void read_v2(int g3, int g4, int g1, int g2, std::span<double> block) const override;

 private:
  struct Numbers;
  const Numbers& numbers() const;
  void take_rotation_of_first(Communicator& communicator);

  const TileSource& source_;
  const TileSource& fock_source_;
  OrbitalRotation rotation_;
  RotationCost cost_;
  std::unique_ptr<const Numbers> numbers_;
};

}  // namespace trifuse
