#include "drivers/openblas_kernels.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "cxx/base/blas.hpp"

namespace trifuse::cli {

void restart_with_kernels_of_this_processor(char** arguments) {
  const std::string kernels = better_openblas_kernels();
  if (kernels.empty()) return;
  // Where a loader was told to run this program, it is the loader that would start.
  constexpr const char* self = "/proc/self/exe";
  std::error_code error;
  const std::string file = std::filesystem::read_symlink(self, error).filename();
  if (error || file.starts_with("ld-") || file.starts_with("ld.")) return;
  constexpr int keep = 0;
  if (setenv("OPENBLAS_CORETYPE", kernels.c_str(), keep) == 0) execv(self, arguments);
}

}  // namespace trifuse::cli
