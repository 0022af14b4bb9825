#pragma once

#include <cstdint>
#include <optional>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// What a check of amplitudes and integrals found. Largest violations of a symmetry are in the units of the tensor.
struct ConsistencyReport {
  std::optional<double> ccsd_energy;  ///< CCSD correlation energy recomputed from the numbers, hartree
  double largest_t1 = 0.0;
  double largest_t2 = 0.0;
  double largest_v2 = 0.0;
  double t2_antisymmetry = 0.0;
  double t2_spin_symmetry = 0.0;  ///< of a restricted reference
  double v2_antisymmetry = 0.0;
  std::int64_t doubles_read = 0;
};

/// Amplitudes above one occur only near a breakdown of coupled cluster theory; integrals and Fock matrix elements stay
/// below the square of the charge of the heaviest nucleus. Both limits leave room.
inline constexpr double largest_amplitude = 1e3;
inline constexpr double largest_integral = 1e6;

/// Which integrals are read: those that triples need, or of these only what the energy is made of, where the others
/// have been checked already.
enum class CheckedIntegrals { all, of_energy };

/// Reads all amplitudes and those integrals that triples need once, block by block, and throws InputError with one
/// sentence if
///   - a number is not finite or beyond any reasonable size,
///   - T2 or V2 is not antisymmetric inside a pair of equal tiles,
///   - T2 of a restricted reference does not have the symmetry of singlet amplitudes,
///   - the CCSD correlation energy of these numbers is not the one that their maker printed; T1 of another run shows
///   only here,
///   - the two sources do not have the same tiles.
/// Both arguments may be the same object. The energy is left out for left-hand amplitudes, and without integrals.
ConsistencyReport check_consistency(const TileSource& amplitudes, const TileSource& integrals,
                                    CheckedIntegrals checked = CheckedIntegrals::all);

/// Throws InputError where the maker of the amplitudes printed another CCSD correlation energy than this, hartree.
void expect_printed_energy(const SourceInfo& amplitudes, const SourceInfo& integrals, double energy);

}  // namespace trifuse
