#include "drivers/version_text.hpp"

#include <fmt/format.h>

#include "cxx/base/blas.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/cuda/runtime/choose_devices.hpp"
#include "cxx/cuda/runtime/devices.hpp"
#include "trifuse_config.hpp"

namespace trifuse::cli {

std::string version_text() {
  const auto feature = [](const char* name, bool on) { return fmt::format("{} {}", name, on ? "yes" : "no"); };
  std::string text =
      fmt::format("trifuse {}\nfeatures: CPU yes, {}, {}, {}, {}\nBLAS: {}", version, feature("CUDA", has_cuda),
                  feature("MPI", has_mpi), feature("Global Arrays", has_mpi && has_global_arrays),
                  feature("Fortran", has_fortran), blas_name());
  for (const DeviceInfo& gpu : visible_devices()) {
    text += fmt::format("\nGPU {}: {}, compute capability {}.{}, {}{}", gpu.number, gpu.name, gpu.major, gpu.minor,
                        format_bytes(static_cast<double>(gpu.total_memory)),
                        is_supported(gpu) ? "" : " (too old: 7.5 is needed)");
  }
  if (const std::string why = why_no_devices(); !why.empty()) text += "\nGPU: none. " + why;
  return text;
}

}
