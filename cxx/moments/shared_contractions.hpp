#pragma once

#include <functional>

#include "cxx/base/communicator.hpp"
#include "cxx/moments/tensors.hpp"

namespace trifuse::moments {

/// Which contractions are worth an exchange of their results. The same numbers on all ranks.
struct WorthSharing {
  double operations = 1e9;   ///< least operations of a contraction
  double per_element = 0.0;  ///< least operations for each element of C
};
/// Returns what is worth sharing for ranks on cores. `threads`: those of the rank with the fewest. `ranks`: their
/// number.
WorthSharing worth_sharing(int threads, int ranks);

/// Calls `make(contract)` on every rank, and then throws on every rank if it has thrown on any, see run_collectively().
/// `contract` computes as `own` does, a workplace on cores, but the ranks share each contraction that is worth it: each
/// rank computes a part of C, and all ranks get the same bits of all parts. C must have no gaps, as the arrays of
/// Terms.
///
/// Collective: all ranks ask for the same contractions of the same numbers in the same order.
void share_contractions(Communicator& communicator, const Contract& own, const WorthSharing& worth,
                        const std::function<void(const Contract&)>& make);

}
