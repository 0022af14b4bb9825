#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cxx/triples/precision.hpp"

#pragma GCC visibility push(default)

/// Measures kernels on single tasks whose operands are on the device, and the best speed of the device.
namespace trifuse {

/// One task in spin-orbital form: all nine products, singles and energies.
struct KernelCase {
  std::string name;
  std::array<int, 6> extent;  ///< [a, b, c, i, j, k] orbitals of the tiles
  int contracted;             ///< contracted indices of each product, particles and holes together
  /// Returns the number of floating-point operations of the products: 2 a b c i j k 9 contracted.
  double operations() const;
};

/// Returns the sizes A to E of Kim et al. (ICS 2018, table 2), and long contractions with tiles of 16 to 40 orbitals.
std::vector<KernelCase> standard_kernel_cases();

struct KernelTimes {
  std::string kernel;           ///< name of the kernel that was measured
  std::vector<double> seconds;  ///< seconds of each repetition
  std::int64_t cta_tiles;
  double modelled;           ///< modelled time of a multiprocessor, in units of a full CTA tile, see CtaTiling
  int registers;             ///< registers of each thread
  std::int64_t local_bytes;  ///< bytes of spilled registers of each thread
};

/// Measures a kernel on a case. `kernel`: its name; if empty, the kernel that a run in this precision would choose.
/// `repeats`: number of measurements, at least 1. `device`: number of the GPU. Throws UsageError if the device cannot
/// run that kernel.
KernelTimes time_kernel(const KernelCase& which, const std::string& kernel, Precision precision, int repeats,
                        int device = 0);
/// Returns the name of the kernel that a run would choose.
std::string chosen_kernel(const KernelCase& which, Precision precision, int device = 0);
/// Returns the names of the kernels that the device can run, the best first.
std::vector<std::string> usable_kernels(Precision precision = Precision::fp64, int device = 0);
/// Returns the names of the kernels among which a run chooses for each task.
std::vector<std::string> candidate_kernels(Precision precision, int device = 0);

/// The sums of the backward pass that are measured: those of left panels, of right panels, or both.
enum class BackwardSide : std::uint8_t { left, right, both };
/// Measures the products of the seeds of a case with its panels. Each side has as many operations as the case. Returns
/// the seconds of each repetition. Throws UsageError if the device cannot compute derivatives.
std::vector<double> time_backward(const KernelCase& which, BackwardSide side, Precision precision, int repeats,
                                  int device = 0);

/// Returns the number of floating-point operations per second of cuBLAS DGEMM for n x n matrices, median of `repeats`
/// measurements. Returns 0 if cuBLAS cannot be loaded.
double time_cublas_dgemm(int n, int repeats, int device = 0);
/// Returns the number of floating-point operations per second of the best FP64 instruction of the device with operands
/// in registers.
double time_matrix_instruction(int device = 0);

}

#pragma GCC visibility pop
