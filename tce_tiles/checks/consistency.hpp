#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tce_tiles/checks/witnesses.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Results of a check of amplitudes and integrals. `*_antisymmetry` and `*_symmetry` are the largest deviations from a
/// symmetry, in the units of the tensor: hartree for V2, none for T2.
struct ConsistencyReport {
  Measurements measured;
  double largest_v2 = 0.0;  ///< absolute value, hartree
  double t2_antisymmetry = 0.0;
  double t2_spin_symmetry = 0.0, v2_spin_symmetry = 0.0;  ///< deviations for a restricted reference, else 0
  double v2_antisymmetry = 0.0;
  std::int64_t doubles_read = 0;  ///< number of elements of all blocks that were read
  /// The residual of the singles equation from the blocks of this part, to be summed over the parts; empty if the
  /// equation is not evaluated.
  std::vector<double> residual_sums;
  /// A function that makes `measured.singles` from the sums of all parts. `amplitudes` must still exist.
  std::function<SinglesResidual(std::span<const double>)> residual_of;
};

/// One of several processes that check the same blocks. Each process reads a part of the blocks {p p|h p} and all other
/// blocks.
struct CheckPart {
  int part = 0, parts = 1;
};

/// Largest absolute values that an input may have; integrals and Fock matrix in hartree. Amplitudes above one occur
/// only near a breakdown of coupled cluster theory. Integrals and Fock matrix elements stay below the square of the
/// charge of the heaviest nucleus. Both limits are far above these values.
inline constexpr double largest_amplitude = 1e3;
inline constexpr double largest_integral = 1e6;

/// The integrals that a check reads: all integrals that triples need, or only the integrals of the CCSD energy ({p p|h
/// h}). The second choice is for integrals that another check has read already.
enum class CheckedIntegrals { all, energy_only };

/// Checks all amplitudes and the integrals that triples need. Reads them block by block. Also measures the quantities
/// of witnesses.hpp, as far as the sources provide the numbers for them.
///
/// `amplitudes` and `integrals` may be the same object. Throws InputError with one sentence if
///   - a number is not finite or beyond any reasonable size,
///   - T2 or V2 is not antisymmetric inside a pair of equal tiles,
///   - T2 of a restricted reference does not have the symmetry of singlet amplitudes,
///   - the source holds several spin cases of V2 of a restricted reference and they contradict each other,
///   - the two sources have different tiles.
/// If there are several parts, the report has no `measured.singles`.
ConsistencyReport check_consistency(const TileSource& amplitudes, const TileSource& integrals,
                                    CheckedIntegrals checked = CheckedIntegrals::all, const CheckPart& part = {});

}

#pragma GCC visibility pop
