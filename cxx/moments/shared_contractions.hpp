#pragma once

#include <functional>

#include "cxx/base/communicator.hpp"
#include "cxx/moments/tensors.hpp"

namespace trifuse::moments {

/// Calls `make(contract)` on every rank, and then throws on every rank if it has thrown on any, see run_collectively().
/// `contract` computes as `own` does, but the ranks share each contraction of at least `least` operations: each rank
/// computes a part of C, and all ranks get the same bits of all parts. C must have no gaps, as the arrays of Terms.
///
/// Collective: all ranks ask for the same contractions of the same numbers in the same order. `communicator`: null for
/// one process, which computes alone.
void share_contractions(Communicator* communicator, const Contract& own, double least,
                        const std::function<void(const Contract&)>& make);

}
