#pragma once

#include <array>

#include "cxx/base/buffer.hpp"
#include "cxx/nwchem/recorded_task.hpp"

namespace trifuse {

/// Executes recorded tasks on the calling thread.
class RecordedTaskOnCpu {
 public:
  struct Energies {
    double bracket;  ///< E[T], hartree
    double paren;    ///< E(T), hartree
  };

  RecordedTaskOnCpu();
  /// All elements of the task's block are summed and multiplied by `factor`. `eps`: energies of the orbitals of a, b,
  /// c, i, j, k, hartree. UsageError for a task that is not complete, InputError for energies that are not finite.
  Energies operator()(const RecordedTask& task, double factor, const std::array<const double*, 6>& eps);

 private:
  Buffer target_, product_, left_, right_;
};

}  // namespace trifuse
