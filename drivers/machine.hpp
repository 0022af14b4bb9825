#pragma once

#include <cstdint>
#include <string>

namespace trifuse::cli {

/// Version, features, libraries and GPUs, for --version.
std::string version_text();

/// Model name of the processor; "unknown" if the system does not tell it.
std::string processor_name();
/// Largest resident memory of this process so far, bytes; 0 if it is not known.
std::int64_t peak_memory();

/// Measures the rate of DGEMM in the BLAS library for matrices of n x n elements. Returns floating-point operations per
/// second, the median of `repeats` calls. `threads`: threads of the BLAS library during the measurement, at least 1;
/// `repeats`: at least 1. Afterwards BLAS uses one thread for a call.
double measure_dgemm(int n, int threads, int repeats);

}  // namespace trifuse::cli
