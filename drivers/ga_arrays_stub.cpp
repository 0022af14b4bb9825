#include "drivers/ga_arrays.hpp"

/// Replaces ga_arrays.cpp in a build without Global Arrays.
namespace trifuse::cli {

std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread&) {
  return nullptr;
}

}
