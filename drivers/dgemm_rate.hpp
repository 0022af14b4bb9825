#pragma once

namespace trifuse::cli {

/// Measures the rate of DGEMM in the BLAS library for matrices of n x n elements. Returns floating-point operations per
/// second, the median of `repeats` calls. `threads`: threads of the BLAS library during the measurement, at least 1;
/// `repeats`: at least 1. Afterwards BLAS uses one thread for a call.
double measure_dgemm(int n, int threads, int repeats);

}
