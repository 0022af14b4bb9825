#include "tce_tiles/open_source.hpp"

#include "tce_tiles/consistency.hpp"
#include "tce_tiles/dump_check.hpp"
#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/memory_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_source(const NwchemLocation& location) {
  if (!is_hdf5(location.prefix)) return open_nwchem(location);
  // Tiles in which the file is read: large enough for long runs, small enough for memory.
  constexpr std::int64_t hole_tile = 4, particle_tile = 32;
  return open_dump(location.prefix, hole_tile, particle_tile);
}

std::optional<double> verify_source(const TileSource& amplitudes, const TileSource& integrals,
                                    const CheckShare& share) {
  if (is_hdf5(amplitudes.info().path)) {
    DumpCheck check;
    check.integrals = &amplitudes == &integrals;
    check.part = share.part;
    check.parts = share.parts;
    check_dump(amplitudes.info().path, check);
  }
  // All numbers of a dump have been looked at in the order of its file, which is faster.
  const auto rest = is_hdf5(integrals.info().path) ? CheckedIntegrals::of_energy : CheckedIntegrals::all;
  // Amplitudes for the left may come in other tiles: of another program, or of a run with another tile size.
  const TileSpace &found = amplitudes.tiles(), &wanted = integrals.tiles();
  if (!(found == wanted) && found.retiled(1, 1) == wanted.retiled(1, 1)) {
    return check_consistency(*retile(amplitudes, wanted, {.integrals = false, .fock = false}), integrals, rest)
        .ccsd_energy;
  }
  return check_consistency(amplitudes, integrals, rest).ccsd_energy;
}

}  // namespace trifuse
