#pragma once

#include <cstdint>

namespace trifuse {

/// What one rank of a team had and moved of operands that all ranks share, in bytes but for the panels.
struct OperandTraffic {
  std::int64_t own_bytes = 0;        ///< of its pieces, in its memory
  std::int64_t bytes_of_others = 0;  ///< of the operands that it works with, in the memories of other ranks
  std::int64_t read_bytes = 0;       ///< from the sources, to fill its pieces
  std::int64_t fetched_bytes = 0;    ///< from the memories of other ranks
  std::int64_t neighbour_bytes = 0;  ///< from the GPUs of other ranks, not counted in those fetched
  std::int64_t cache_bytes = 0;      ///< most that was kept of other ranks' panels at once
  std::int64_t panels_wanted = 0;    ///< of other ranks
  std::int64_t panels_hit = 0;       ///< of these, those that were here or on their way when they were wanted
};

}  // namespace trifuse
