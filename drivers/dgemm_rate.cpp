#include "drivers/dgemm_rate.hpp"

#include <utility>
#include <vector>

#include "cxx/base/blas.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/clock.hpp"
#include "cxx/base/median.hpp"

namespace trifuse::cli {

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
    if (r > 0) rates.push_back(2.0 * n * n * n / seconds);  // the first call does not count: it warms up
  }
  use_single_threaded_blas();
  return median(std::move(rates));
}

}
