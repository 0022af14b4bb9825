#pragma once

#include <cstdint>
#include <optional>

#include "tce_tiles/tile_source.hpp"
#include "tce_tiles/witnesses.hpp"

namespace trifuse {

/// What a check of amplitudes and integrals found. Largest violations of a symmetry are in the units of the tensor.
struct ConsistencyReport {
  Measurements measured;
  double largest_v2 = 0.0;
  double t2_antisymmetry = 0.0;
  double t2_spin_symmetry = 0.0, v2_spin_symmetry = 0.0;  ///< of a restricted reference
  double v2_antisymmetry = 0.0;
  std::int64_t doubles_read = 0;
};

/// Amplitudes above one occur only near a breakdown of coupled cluster theory; integrals and Fock matrix elements stay
/// below the square of the charge of the heaviest nucleus. Both limits leave room.
inline constexpr double largest_amplitude = 1e3;
inline constexpr double largest_integral = 1e6;

/// Which integrals are read: those that triples need, or of these only what the energy is made of, where the others
/// have been checked already.
enum class CheckedIntegrals { all, energy_only };

/// Reads all amplitudes and those integrals that triples need once, block by block, and throws InputError with one
/// sentence if
///   - a number is not finite or beyond any reasonable size,
///   - T2 or V2 is not antisymmetric inside a pair of equal tiles,
///   - T2 of a restricted reference does not have the symmetry of singlet amplitudes,
///   - the spin cases of V2 of a restricted reference contradict each other, where the source holds more than one,
///   - the two sources do not have the same tiles.
/// Both arguments may be the same object. Measures what witnesses need, as far as amplitudes and integrals tell it.
ConsistencyReport check_consistency(const TileSource& amplitudes, const TileSource& integrals,
                                    CheckedIntegrals checked = CheckedIntegrals::all);

}  // namespace trifuse
