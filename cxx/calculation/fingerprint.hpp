#pragma once

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/journal_file.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Identifies the numbers of a problem and all that decides its energies but for rounding. With a team each rank reads
/// a part of them, and all get the same: collective.
Fingerprint fingerprint(const Problem& problem, Communicator* communicator = nullptr);

}  // namespace trifuse
