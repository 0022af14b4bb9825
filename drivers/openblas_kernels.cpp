#include "drivers/openblas_kernels.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "cxx/base/address_space.hpp"
#include "cxx/base/blas.hpp"

namespace trifuse::cli {

void restart_with_other_openblas(char** arguments) {
  const std::string kernels = better_openblas_kernels();
  const char* const threads = std::getenv("OPENBLAS_NUM_THREADS");
  const bool fewer_threads =
      openblas_threads() > 1 && address_space_is_limited() && (threads == nullptr || std::string(threads) != "1");
  if (kernels.empty() && !fewer_threads) return;
  // If the user started the program through the dynamic loader, /proc/self/exe is the loader. A restart would then
  // start the loader.
  constexpr const char* self = "/proc/self/exe";
  std::error_code error;
  const std::string file = std::filesystem::read_symlink(self, error).filename();
  if (error || file.starts_with("ld-") || file.starts_with("ld.")) return;
  constexpr int keep_existing = 0, replace = 1;
  if (!kernels.empty() && setenv("OPENBLAS_CORETYPE", kernels.c_str(), keep_existing) != 0) return;
  if (fewer_threads && setenv("OPENBLAS_NUM_THREADS", "1", replace) != 0) return;
  execv(self, arguments);
}

}
