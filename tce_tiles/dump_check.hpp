#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tce_tiles/dump_file.hpp"
#include "tce_tiles/source_check.hpp"

namespace trifuse {

struct DumpCheck {
  bool integrals = true;  ///< false for a left-hand dump, whose integrals are not used
  /// The dump whose integrals and Fock matrix the amplitudes are tested with; null: no such tests.
  const DumpFile* test_with = nullptr;
  int part = 0;  ///< this process checks part number `part` of `parts`
  int parts = 1;
  int threads = 0;                                   ///< at most; 0: as many as OpenMP allows
  std::int64_t box_doubles = std::int64_t{1} << 18;  ///< how many numbers are read at a time
};

/// Reads every array of a dump in long runs and throws InputError if one holds a value that is not finite, breaks the
/// symmetry under exchange of indices that the format claims by more than 1e-7 (absolute, relative above 1; t2 and
/// ovov, of which the energy is made: 1e-9, relative to the largest element nearby if that is above 1), is beyond any
/// reasonable size, or has elements above 1e-7 that its irreps forbid. `open_dump` cannot notice this, because it reads
/// each block for itself. Of several mistakes in a part, the one that one thread alone would find first is reported.
///
/// Two stages: the first reads t1, t2, ovov, ovoo, oovv and the Fock matrix, and measures the CCSD energy; the second
/// reads ovvv, and slabs of the others, for the equation of the single excitations. What is summed over processes
/// has the same bits for any number of parts, threads and doubles in a box where the CCSD energy is concerned.
std::unique_ptr<SourceCheck> make_dump_check(const DumpFile& dump, const DumpCheck& check = {});

/// Both stages of one part. Returns what the CCSD correlation energy is the sum of, hartree: a number for the singles
/// of each spin and one for each ordered pair of occupied orbitals, zero for those of other parts.
std::vector<double> check_dump(const DumpFile& dump, const DumpCheck& check = {});

}  // namespace trifuse
