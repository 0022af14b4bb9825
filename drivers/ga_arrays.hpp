#pragma once

#include <memory>

#include "cxx/mpi/shared_segments.hpp"

namespace trifuse::cli {

/// Returns the library for the shared arrays of the program: Global Arrays, or windows of MPI if this build has no
/// Global Arrays. The arrays belong to all processes of the MPI job.
std::unique_ptr<ArrayLibrary> arrays_of_program();

}
