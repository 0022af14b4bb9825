#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cxx/nwchem/recorded_task.hpp"

namespace trifuse {

/// Turns recorded tasks into energies, one after the other; all memory is kept for the next one.
class RecordedExecutor {
 public:
  struct Energies {
    double e_bracket_t;  ///< E[T], hartree
    double e_paren_t;    ///< E(T), hartree
  };

  virtual ~RecordedExecutor() = default;
  /// Where the operands of its tasks must be. It may begin with their transport.
  virtual OperandStore& operands() = 0;
  /// Gives back the memory that grew with its tasks, after their operands were forgotten.
  virtual void release() {}
  /// All elements of the task's block are summed and multiplied by `factor`. `eps`: energies of the orbitals of a, b,
  /// c, i, j, k, hartree. UsageError for a task that is not complete, InputError for energies that are not finite.
  /// After DeviceMemoryError the operands are still good.
  virtual Energies execute(const RecordedTask& task, double factor, const std::array<const double*, 6>& eps) = 0;

 protected:
  static void check_complete(const RecordedTask& task);
  /// Returns what is finite.
  static Energies checked(Energies energies);
};

/// On the calling thread.
std::unique_ptr<RecordedExecutor> make_recorded_cpu_executor();

/// On a GPU, which compares a small task with the CPU first. `memory`: bytes that operands and panels may take there;
/// default: what is free. Throws UsageError where there is no such GPU and DeviceError where it fails or gives wrong
/// numbers; keeping operands and `execute` throw DeviceMemoryError where a task needs more memory, and the next one may
/// still fit. Uses the GPU from one thread.
std::unique_ptr<RecordedExecutor> make_recorded_cuda_executor(int device, std::optional<std::int64_t> memory = {});

}  // namespace trifuse
