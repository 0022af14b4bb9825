#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/tiles/factor_source.hpp"

namespace trifuse {

/// Returns the part of all `auxiliary` functions that a rank reads.
inline AuxiliaryRange part_of_rank(std::int64_t auxiliary, int rank, int ranks) {
  const std::int64_t begin = auxiliary * rank / ranks;
  return {begin, auxiliary * (rank + 1) / ranks - begin};
}

/// Limit for the numbers that wait in a rank for other ranks, bytes: factors of holes, and numbers of the check of an
/// input. A single auxiliary function or orbital may exceed it.
inline constexpr std::int64_t exchanged_factor_bytes = std::int64_t{64} << 20;

/// Reads the factors of holes into memory, as FactorSource::acquire_factors() does. If the ranks have shared arrays,
/// each rank reads an equal part of the auxiliary functions and gets the other parts from the ranks that have read
/// them: all ranks together read each factor once. Collective if there is a communicator. If one rank throws, all ranks
/// throw.
///
/// `factors`: null if there are none; then the function returns null. `communicator`: null for a single process.
/// `stop`: see FactorSource::acquire_factors().
std::shared_ptr<const void> acquire_factors_of_ranks(const FactorSource* factors, Communicator* communicator,
                                                     const std::atomic<bool>* stop);

}
