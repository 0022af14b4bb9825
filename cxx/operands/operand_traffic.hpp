#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace trifuse {

/// The operands that one rank stored and moved, if the operands are distributed over all ranks. Sizes are in bytes.
struct OperandTraffic {
  std::int64_t own_bytes = 0;        ///< size of the sections that this rank owns
  std::int64_t bytes_of_others = 0;  ///< size of the other ranks' sections in the tiling of this rank
  std::int64_t read_bytes = 0;       ///< bytes read from the tile sources to fill the own sections
  std::int64_t fetched_bytes = 0;    ///< bytes read from the memory of other ranks
  std::int64_t peer_bytes = 0;       ///< bytes read from the GPUs of other ranks; not part of `fetched_bytes`
  std::int64_t cache_bytes = 0;      ///< largest sizes of the caches of other ranks' panels and of made panels
  std::int64_t panels_wanted = 0;    ///< number of acquired panels of other ranks
  std::int64_t panels_hit = 0;       ///< those of them that were in the cache or on their way
};

}

#pragma GCC visibility pop
