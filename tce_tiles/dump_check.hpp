#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tce_tiles/dump_file.hpp"

namespace trifuse {

struct DumpCheck {
  bool integrals = true;  ///< false for a left-hand dump, whose integrals are not used
  /// The dump whose integrals and Fock matrix give the energy of these amplitudes; null: no energy is wanted.
  const DumpFile* energy_with = nullptr;
  int part = 0;  ///< this process checks every `parts`-th piece of the arrays, beginning with number `part`
  int parts = 1;
  int threads = 0;                                   ///< at most; 0: as many as OpenMP allows
  std::int64_t box_doubles = std::int64_t{1} << 20;  ///< how many numbers are read at a time
};

/// Reads every array of a dump once, in long runs, and throws InputError when one holds a value that is not finite,
/// breaks the symmetry under exchange of indices that the format claims by more than 1e-7 (absolute, relative above 1;
/// what the energy is made of, t2 and ovov: 1e-9, relative to the largest element nearby if that is above 1), is beyond
/// any reasonable size, or has elements above 1e-7 that its irreps forbid. `open_dump` cannot notice this, because it
/// reads each block for itself. Of several mistakes in a part the one that is found first by one thread is reported.
///
/// Returns what the CCSD correlation energy is the sum of, hartree, where it was asked for: a number for the singles
/// and one for each ordered pair of occupied orbitals, zero for those of other parts. The same bits for any number of
/// parts, threads and doubles in a box.
std::vector<double> check_dump(const DumpFile& dump, const DumpCheck& check = {});

}  // namespace trifuse
