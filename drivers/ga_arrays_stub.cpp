#include "drivers/ga_arrays.hpp"

/// Takes the place of Global Arrays in a build without them.
namespace trifuse::cli {

std::unique_ptr<GlobalArrays> make_global_arrays(CallerThread&) {
  return nullptr;
}

}  // namespace trifuse::cli
