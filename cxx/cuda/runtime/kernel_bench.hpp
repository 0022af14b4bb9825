#pragma once

#include <array>
#include <string>
#include <vector>

/// Measures kernels on single tasks whose operands lie on the device, beside what the device can do at best.
namespace trifuse {

/// One spin-orbital task, singles and energies included, all nine products.
struct KernelCase {
  std::string name;
  std::array<int, 6> extent;  ///< a, b, c, i, j, k
  int inner;                  ///< inner indices of each product, particles and holes together
  /// 2 a b c i j k 9 inner.
  double operations() const;
};

/// The sizes of Kim et al. (ICS 2018, table 2), A to E, and long contractions over tiles of 16 to 40.
std::vector<KernelCase> standard_kernel_cases();

struct KernelTimes {
  std::string kernel;           ///< that was measured
  std::vector<double> seconds;  ///< of each repetition
  std::int64_t items;
  double modelled;  ///< in full items for each multiprocessor, products alone
  int registers;
  std::int64_t local_bytes;  ///< spilled
};

/// Measures with the kernel of this name, or the one that would be chosen.
KernelTimes time_kernel(const KernelCase& which, const std::string& kernel, int repeats, int device = 0);
/// The name of the kernel that would be chosen.
std::string chosen_kernel(const KernelCase& which, int device = 0);
/// Names of the kernels that the device can run, best first.
std::vector<std::string> usable_kernels(int device = 0);
/// Names of those of which a run chooses one for each task.
std::vector<std::string> candidate_kernels(int device = 0);

/// Operations per second of cuBLAS DGEMM n^3, median; 0 where cuBLAS cannot be loaded.
double time_cublas_dgemm(int n, int repeats, int device = 0);
/// Operations per second of the best FP64 matrix instruction, operands in registers, or of multiply-adds without one.
double time_matrix_instruction(int device = 0);

}  // namespace trifuse
