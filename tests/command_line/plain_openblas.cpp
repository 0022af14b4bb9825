#include <cstdlib>

/// A library to be loaded before a program's own (LD_PRELOAD): OpenBLAS on a processor that it does not know.
extern "C" char* openblas_get_corename() {
  static char plain[] = "Prescott";
  char* const chosen = std::getenv("OPENBLAS_CORETYPE");
  return chosen != nullptr ? chosen : plain;
}
