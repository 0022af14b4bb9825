#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse {

/// The facts about the reference in the file of molecular orbitals (PREFIX.movecs).
struct NwchemMovecs {
  std::string path;
  std::string title;
  /// RHF also stands for a closed-shell ROHF, because the file does not distinguish them.
  Reference reference = Reference::rhf;
  std::int64_t orbitals = 0;               ///< number of molecular orbitals of each spin
  std::array<std::int64_t, 2> occupied{};  ///< numbers of occupied orbitals, alpha and beta
  /// Orbital energies of alpha and beta, eps[orbitals] in NWChem's order, hartree. For a restricted reference both are
  /// the same.
  std::array<std::vector<double>, 2> energies;
};

/// Reads the file `path`. Throws InputError if it is not a file of molecular orbitals or if an occupation is
/// fractional.
NwchemMovecs read_nwchem_movecs(const std::string& path);

}
