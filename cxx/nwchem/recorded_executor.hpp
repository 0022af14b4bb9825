#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cxx/nwchem/recorded_task.hpp"
#include "cxx/triples/task.hpp"

namespace trifuse {

/// Computes the energies of recorded tasks, one task at a time. It keeps its memory for the next task.
class RecordedExecutor {
 public:
  virtual ~RecordedExecutor() = default;
  /// Returns the store of the operands of its tasks. It may start to transfer operands at once.
  virtual OperandStore& operands() = 0;
  /// Frees the memory of operands and panels. The operand store must be empty.
  virtual void release() {}
  /// Computes the energies of `task`: sums over all elements of its block, multiplied by `weight`. `eps` [a,b,c,i,j,k]:
  /// orbital energies of each tile, hartree. Throws UsageError if the task is not complete, and InputError if an energy
  /// is not finite. Throws DeviceMemoryError if the task is too large for the device; the operands stay valid.
  virtual Energies execute(const RecordedTask& task, double weight, const std::array<const double*, 6>& eps) = 0;

 protected:
  /// Throws UsageError if the task is not complete.
  static void check_complete(const RecordedTask& task);
  /// Returns the energies. Throws InputError if one of them is not finite.
  static Energies checked(const Energies& energies);
};

/// Makes an executor that computes on the calling thread.
std::unique_ptr<RecordedExecutor> make_recorded_cpu_executor();

/// Makes an executor that computes on a GPU. First, the GPU computes a small task, which is compared with the CPU.
/// `device`: number of the GPU, as CUDA counts it. `memory`: memory limit for operands and panels, bytes; nullopt: the
/// free memory. Throws UsageError if there is no such GPU, and DeviceError if the GPU fails or gives wrong numbers.
///
/// If a task needs too much memory, the operand store and `execute` throw DeviceMemoryError; a smaller task may still
/// fit. All calls must come from one thread.
std::unique_ptr<RecordedExecutor> make_recorded_cuda_executor(int device, std::optional<std::int64_t> memory = {});

}
