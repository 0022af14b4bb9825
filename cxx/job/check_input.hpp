#pragma once

#include <atomic>

#include "cxx/job/job.hpp"

namespace trifuse {

/// How the ranks of a job check an input.
struct CheckSettings {
  bool check = true;                        ///< false: nothing is checked, and a warning says so
  bool trust_input = false;                 ///< true: a failed witness is a warning
  int threads = 0;                          ///< largest number of threads of this rank; 0: its share of the cores
  const std::atomic<bool>* stop = nullptr;  ///< may be null
};

/// Checks one side of a job with the integrals of `right`. Throws InputError if a witness fails or if the ranks have
/// different numbers. Collective if `ranks` is not null; if it fails on one rank, it throws on all.
CheckReport check_side(const JobSide& side, const JobSide& right, const CheckSettings& settings, Communicator* ranks);

}
