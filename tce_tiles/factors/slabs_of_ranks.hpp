#pragma once

#include <cstdint>
#include <span>

#include "cxx/base/communicator.hpp"
#include "tce_tiles/factors/factor_slabs.hpp"

namespace trifuse {

/// A slab of factors and the rank that owns it.
struct SlabOfRank {
  int rank;
  FactorSlab slab;  ///< `values` are empty if another rank owns the slab
};

/// Threads and memory of this rank for the reading of slabs.
struct SlabReading {
  int threads;                ///< largest number of threads
  std::int64_t buffer_bytes;  ///< limit for factors that wait for other ranks; one auxiliary function may exceed it
};

/// Fills the slabs of all ranks. Each rank reads an equal part of the auxiliary functions from its source, so that all
/// ranks together read the factors of each spin once. Then each rank fetches the factors of its slabs from the ranks
/// that have read them. Collective. Passes on exceptions of the source; if one rank throws, all ranks throw.
///
/// `communicator` must have shared arrays; null if this process owns all slabs. `slabs`: the slabs of all ranks, the
/// same list on all ranks except for `values`. Returns the bytes of factors that this rank has read.
std::int64_t read_slabs_of_ranks(Communicator* communicator, const FactorSource& source,
                                 std::span<const SlabOfRank> slabs, const SlabReading& reading);

}
