#include "drivers/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/byte_amount.hpp"
#include "cxx/base/clock.hpp"
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

double measure_dgemm(int n, int threads, int repeats) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  Buffer a(size), b(size), c(size);
  for (std::size_t x = 0; x < size; ++x) {
    a.data()[x] = static_cast<double>(x % 97) * 0.01 - 0.4;
    b.data()[x] = static_cast<double>(x % 89) * 0.01 - 0.3;
  }
  set_blas_threads(threads);
  std::vector<double> rates;
  for (int r = 0; r <= repeats; ++r) {
    const double start = wall_seconds();
    multiply_transposed(n, n, n, a.data(), n, b.data(), n, c.data());
    const double seconds = wall_seconds() - start;
    if (r > 0) rates.push_back(2.0 * n * n * n / seconds);  // the first call only warms up
  }
  use_single_threaded_blas();
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

}  // namespace trifuse::cli
