#include "cxx/mpi/window_arrays.hpp"
#include "drivers/ga_arrays.hpp"

/// Replaces ga_arrays.cpp in a build without Global Arrays.
namespace trifuse::cli {

std::unique_ptr<ArrayLibrary> arrays_of_program() {
  return window_arrays();
}

}
