#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/tile_source.hpp"

namespace trifuse {

/// What the file of molecular orbitals (PREFIX.movecs) tells about the reference.
struct NwchemMovecs {
  std::string path;
  std::string title;
  Reference reference =
      Reference::rhf;         ///< RHF also stands for a closed-shell ROHF, which the file does not tell apart
  std::int64_t orbitals = 0;  ///< molecular orbitals of each spin
  std::array<std::int64_t, 2> occupied{};
  /// Of alpha and beta orbitals in NWChem's order; the same for both if the reference is restricted.
  std::array<std::vector<double>, 2> energies;
};

/// Throws InputError if the file is no set of molecular orbitals with whole occupations.
NwchemMovecs read_nwchem_movecs(const std::string& path);

}  // namespace trifuse
