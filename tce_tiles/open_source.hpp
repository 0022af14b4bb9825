#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/nwchem_source.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// Opens whatever amplitudes the user names: a Trifuse dump (HDF5) or NWChem's files by their prefix or directory;
/// other members of the location matter for NWChem only. NWChem's files must not change from then on (see
/// `WatchedSource`).
std::unique_ptr<TileSource> open_source(const NwchemLocation& location);

/// Which part of the check of a dump one of several processes does; all parts together are the whole.
struct CheckShare {
  int part = 0, parts = 1;
  int threads = 0;  ///< at most; 0: as many as OpenMP allows
};

/// What comes before a check: of a dump without a seal the checksums of a share of it, which are added up over all
/// parts and accepted; from then on numbers that have changed in the file are refused when they are read. Empty where
/// nothing is to be done. `integrals`: whether those are used, too.
std::vector<double> checksums_of_source(const TileSource& source, bool integrals, const CheckShare& share = {});
void accept_checksums(const TileSource& source, bool integrals, std::span<const double> sums);

/// What a part of a check found of the CCSD correlation energy: numbers whose sum it is, hartree, zero where other
/// parts know them; none where there is no such energy. All parts have equally many.
using EnergyShares = std::vector<double>;

/// Reads everything once and throws InputError with one sentence when the numbers are not what they claim to be: see
/// `check_dump` and `check_consistency`. `integrals` is the source of integrals, which may be `amplitudes` itself.
/// Integrals for the left are those of the right, and have been verified with it. Of a dump several processes may check
/// a share each; all of NWChem's files each of them reads. `checked_energy` is what remains.
EnergyShares check_source(const TileSource& amplitudes, const TileSource& integrals, const CheckShare& share = {});
/// The CCSD correlation energy, from the numbers of all parts, added up one by one: the same bits for any number of
/// parts. Throws InputError where the maker of the amplitudes printed another.
std::optional<double> checked_energy(const TileSource& amplitudes, const TileSource& integrals,
                                     const EnergyShares& shares);

/// The whole check in one process. Returns the recomputed CCSD correlation energy where there is one.
std::optional<double> verify_source(const TileSource& amplitudes, const TileSource& integrals);

}  // namespace trifuse
