#pragma once

#include "cxx/base/communicator.hpp"
#include "cxx/parallel/journal_file.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse {

/// Returns a hash of everything that determines the energies of a problem, apart from rounding: formulation, omega2,
/// orbital energies, amplitudes, integrals and the precision of the products. The journal uses it to recognise its
/// input. `communicator`: its ranks share the reading, and all get the same hash (collective); null: this process reads
/// everything. Throws what the sources throw, on all ranks.
Fingerprint fingerprint(const Problem& problem, Communicator* communicator = nullptr,
                        Precision precision = Precision::fp64);

}
