#pragma once

#include <cstdint>
#include <string>

namespace trifuse {

struct DumpCheck {
  bool integrals = true;  ///< false for a left-hand dump, whose integrals are not used
  int part = 0;           ///< this process checks every `parts`-th piece of the arrays, beginning with number `part`
  int parts = 1;
  std::int64_t box_doubles = std::int64_t{1} << 21;  ///< how many numbers are read at a time
};

/// Reads every array of a dump once, in long runs, and throws InputError when one holds a value that is not finite,
/// breaks the symmetry under exchange of indices that the format claims by more than 1e-7 (absolute, relative above 1),
/// is beyond any reasonable size, or has elements above 1e-7 that its irreps forbid. `open_dump` cannot notice this,
/// because it reads each block for itself.
void check_dump(const std::string& path, const DumpCheck& check = {});

}  // namespace trifuse
