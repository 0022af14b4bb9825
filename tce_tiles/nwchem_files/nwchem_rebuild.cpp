#include "tce_tiles/nwchem_files/nwchem_rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_energies.hpp"
#include "tce_tiles/nwchem_files/nwchem_layout.hpp"

namespace trifuse {

namespace {

/// Returns true if F1 and T1 have the sizes of the files. Their sizes depend on the numbers of orbitals only.
bool pair_sizes_fit(const OrbitalCounts& counts, bool restricted, const FoundSizes& sizes) {
  std::int64_t f1 = 0;
  std::int64_t t1 = 0;
  for (std::size_t s = 0; s < (restricted ? 1u : 2u); ++s) {
    const std::int64_t holes = counts.occupied[s] - counts.frozen_core[s];
    const std::int64_t particles = counts.orbitals[s] - counts.occupied[s] - counts.frozen_virtual[s];
    f1 += (holes + particles) * (holes + particles);
    t1 += holes * particles;
  }
  return t1 == sizes.t1 && (!sizes.f1 || f1 == *sizes.f1);
}

bool all_sizes_fit(const TileSpace& space, const FoundSizes& found, bool spin_orbital, bool spatial) {
  const NwchemSizes sizes = nwchem_sizes(space);
  if (sizes.t1 != found.t1 || sizes.t2 != found.t2 || (found.f1 && sizes.f1 != *found.f1)) return false;
  return !found.v2 || (spin_orbital && sizes.v2_spin_orbital == *found.v2) || (spatial && sizes.v2_spatial == found.v2);
}

/// Adds to `found` the tile tables of one reference and one set of frozen orbitals that fit the sizes of the files.
void add_fitting(const RebuildRequest& request, const OrbitalCounts& counts, Reference reference, bool split,
                 std::vector<RebuiltTiles>& found) {
  const SortedOrbitals sorted = sort_orbitals(counts, split);
  // Only in orbital storage, open-shell orbitals have orbital ranges of their own, and UHF does not have that storage.
  // The sizes alone are not always enough: split and unsplit tiles may have the same sizes in a different order.
  const bool open = counts.occupied[0] != counts.occupied[1];
  const bool spatial = reference == Reference::rhf || (reference == Reference::rohf && split == open);
  const bool spin_orbital = !split;
  std::int64_t longest = 1;
  for (const OrbitalRange& range : sorted.ranges) longest = std::max(longest, range.size);
  const std::int64_t least = request.tile_size ? *request.tile_size : 1;
  const std::int64_t most = request.tile_size ? *request.tile_size : longest;
  TileSpace previous;
  for (std::int64_t size = least; size <= most; ++size) {
    const TileSpace space = TileSpace::partition(sorted.ranges, size, size, reference == Reference::rhf);
    if (space == previous) continue;
    previous = space;
    const bool known = std::any_of(found.begin(), found.end(), [&](const RebuiltTiles& f) { return f.space == space; });
    if (known || !all_sizes_fit(space, request.sizes, spin_orbital, spatial)) continue;
    found.push_back({space, reference, size, counts.frozen_core[0], counts.frozen_virtual[0]});
  }
}

std::vector<RebuiltTiles> fitting_tiles(const RebuildRequest& request) {
  const NwchemMovecs& movecs = request.movecs;
  std::vector<Reference> references = {movecs.reference};
  // The movecs file does not distinguish a closed-shell ROHF from RHF.
  if (movecs.reference == Reference::rhf) references.push_back(Reference::rohf);

  std::vector<RebuiltTiles> found;
  const std::int64_t max_core = std::min(movecs.occupied[0], movecs.occupied[1]);
  const std::int64_t max_virtual = movecs.orbitals - movecs.occupied[0];
  for (const Reference reference : references) {
    for (std::int64_t core = request.frozen_core.value_or(0); core <= request.frozen_core.value_or(max_core); ++core) {
      for (std::int64_t top = request.frozen_virtual.value_or(0); top <= request.frozen_virtual.value_or(max_virtual);
           ++top) {
        if (core > max_core || top > max_virtual) continue;
        OrbitalCounts counts;
        counts.orbitals = {movecs.orbitals, movecs.orbitals};
        counts.occupied = movecs.occupied;
        counts.frozen_core = {core, core};
        counts.frozen_virtual = {top, top};
        if (!pair_sizes_fit(counts, reference == Reference::rhf, request.sizes)) continue;
        add_fitting(request, counts, reference, false, found);
        if (movecs.reference == Reference::rohf) add_fitting(request, counts, reference, true, found);
      }
    }
  }
  return found;
}

}

RebuiltTiles rebuild_tiles(const RebuildRequest& request) {
  const std::vector<RebuiltTiles> fitting = fitting_tiles(request);
  if (fitting.empty()) {
    const bool told = request.tile_size || request.frozen_core || request.frozen_virtual;
    throw InputError(
        fmt::format("{}, and no tile table without symmetry fits the sizes of the files {}.* and the orbitals in {}{}; "
                    "name NWChem's "
                    "output with --nwchem-output FILE.",
                    request.reason, request.prefix, request.movecs.path,
                    told ? " with the tile size and frozen orbitals given" : ""));
  }
  std::vector<RebuiltTiles> agreeing;
  double least = std::numeric_limits<double>::infinity();
  for (const RebuiltTiles& candidate : fitting) {
    const std::vector<double> fock = request.fock_energies(candidate.space, candidate.reference);
    double difference = 0.0;
    if (!fock.empty()) difference = largest_difference(energies_from_movecs(candidate.space, request.movecs, {}), fock);
    least = std::min(least, difference);
    if (difference <= energy_agreement) agreeing.push_back(candidate);
  }
  if (agreeing.empty()) {
    throw InputError(
        fmt::format("{}, and the orbital energies in {} differ from the diagonal of the Fock matrix in {}.* by up to "
                    "{:.2g} hartree: either the calculation used symmetry, or the file belongs to another calculation; "
                    "name NWChem's output with --nwchem-output FILE or the right orbitals with --nwchem-movecs FILE.",
                    request.reason, request.movecs.path, request.prefix, least));
  }
  if (agreeing.size() > 1) {
    const auto describe = [](const RebuiltTiles& t) {
      return fmt::format("tile size {}, {} frozen core and {} frozen virtual orbitals", t.tile_size, t.frozen_core,
                         t.frozen_virtual);
    };
    throw InputError(fmt::format(
        "{}, and the sizes of the files {}.* do not determine the tile table ({}; or {}); name NWChem's output with "
        "--nwchem-output FILE, or give --nwchem-tile-size N, --frozen-core N and --frozen-virtual N.",
        request.reason, request.prefix, describe(agreeing[0]), describe(agreeing[1])));
  }
  return agreeing.front();
}

}
