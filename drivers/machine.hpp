#pragma once

#include <cstdint>
#include <string>

namespace trifuse::cli {

/// Version, compiled-in features and libraries, for --version.
std::string version_text();

std::string processor_name();
/// Most memory this process has had so far, bytes.
std::int64_t peak_memory();

/// DGEMM rate of the BLAS library in flops per second for n x n x n with this many threads, the median of `repeats`
/// calls.
double measure_dgemm(int n, int threads, int repeats);

}  // namespace trifuse::cli
