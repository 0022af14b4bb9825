#include "tce_tiles/open_source.hpp"

#include <omp.h>

#include "tce_tiles/consistency.hpp"
#include "tce_tiles/dump_check.hpp"
#include "tce_tiles/dump_source.hpp"
#include "tce_tiles/hdf5_file.hpp"
#include "tce_tiles/memory_source.hpp"
#include "tce_tiles/watched_source.hpp"

namespace trifuse {

std::unique_ptr<TileSource> open_source(const NwchemLocation& location) {
  if (!is_hdf5(location.prefix)) return std::make_unique<WatchedSource>(open_nwchem(location));
  // Tiles in which the file is read: large enough for long runs, small enough for memory.
  constexpr std::int64_t hole_tile = 4, particle_tile = 32;
  return open_dump(location.prefix, hole_tile, particle_tile);
}

std::vector<double> checksums_of_source(const TileSource& source, bool integrals, const CheckShare& share) {
  const DumpFile* dump = dump_file_of(source);
  if (dump == nullptr || dump->seal->sealed()) return {};
  const int threads = share.threads > 0 ? share.threads : omp_get_max_threads();
  return dump->seal->compute(dump->file, dump->datasets(integrals), share.part, share.parts, threads);
}

void accept_checksums(const TileSource& source, bool integrals, std::span<const double> sums) {
  const DumpFile* dump = dump_file_of(source);
  if (dump != nullptr && !dump->seal->sealed()) dump->seal->accept(dump->datasets(integrals), sums);
}

EnergyShares check_source(const TileSource& amplitudes, const TileSource& integrals, const CheckShare& share) {
  const TileSpace &found = amplitudes.tiles(), &wanted = integrals.tiles();
  const DumpFile *dump = dump_file_of(amplitudes), *dump_of_integrals = dump_file_of(integrals);
  const bool in_order_of_files = dump != nullptr && dump_of_integrals != nullptr && found == wanted;
  if (dump != nullptr) {
    DumpCheck check;
    check.integrals = &amplitudes == &integrals;
    if (in_order_of_files) check.energy_with = dump_of_integrals;
    check.part = share.part;
    check.parts = share.parts;
    check.threads = share.threads;
    EnergyShares energy = check_dump(*dump, check);
    if (in_order_of_files) return energy;
  }
  // All numbers of a dump have been looked at in the order of its file, which is faster.
  const auto rest = dump_of_integrals != nullptr ? CheckedIntegrals::of_energy : CheckedIntegrals::all;
  // Amplitudes for the left may come in other tiles: of another program, or of a run with another tile size.
  const bool retiled = !(found == wanted) && found.retiled(1, 1) == wanted.retiled(1, 1);
  const std::optional<double> energy =
      retiled ? check_consistency(*retile(amplitudes, wanted, {.integrals = false, .fock = false}), integrals, rest)
                    .ccsd_energy
              : check_consistency(amplitudes, integrals, rest).ccsd_energy;
  if (!energy) return {};
  return {share.part == 0 ? *energy : 0.0};
}

std::optional<double> checked_energy(const TileSource& amplitudes, const TileSource& integrals,
                                     const EnergyShares& shares) {
  if (shares.empty()) return {};
  double energy = 0.0;
  for (const double each : shares) energy += each;
  expect_printed_energy(amplitudes.info(), integrals.info(), energy);
  return energy;
}

std::optional<double> verify_source(const TileSource& amplitudes, const TileSource& integrals) {
  const bool own = &amplitudes == &integrals;
  accept_checksums(amplitudes, own, checksums_of_source(amplitudes, own));
  return checked_energy(amplitudes, integrals, check_source(amplitudes, integrals));
}

}  // namespace trifuse
