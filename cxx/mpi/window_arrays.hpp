#pragma once

#include <memory>

#include "cxx/mpi/shared_segments.hpp"

namespace trifuse {

/// Returns the windows of MPI, the library for arrays that every MPI library has.
std::unique_ptr<ArrayLibrary> window_arrays();

}
