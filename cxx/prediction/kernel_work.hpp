#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "cxx/cuda/schedule/boxes.hpp"
#include "cxx/cuda/schedule/task_program.hpp"

namespace trifuse {

/// What of a task the kernel's time depends on, padding included.
struct KernelWork {
  double steps = 0.0;    ///< of the matrix instruction along inner indices, over all full items
  double targets = 0.0;  ///< six-index blocks of items that are computed
  double items = 0.0;
  double operations = 0.0;  ///< of the products, of elements that exist

  /// Operations of a full item in one step: 16384 elements, 8 inner indices, a multiply and an add.
  static constexpr double operations_of_step = 2.0 * 8 * 16384;
  /// Share of the operations done that are of elements that exist; the others multiply zeros.
  double filled() const;
  KernelWork& operator+=(const KernelWork& other);
};

/// Cuts tasks into items as an executor does. Tasks of the same shape are cut once. Throws UsageError where tasks are
/// so large, or of so many shapes, that this would take minutes.
class KernelWorkModel {
 public:
  explicit KernelWorkModel(SpinFormulation formulation);
  const KernelWork& work(const gpu::TaskProgram& program);

 private:
  using Signature = std::array<std::int32_t, 10>;
  KernelWork cut(const gpu::TaskProgram& program, std::int64_t steps);

  SpinFormulation formulation_;
  std::vector<gpu::Shape> shapes_;
  gpu::CoverChoice covers_;
  std::map<Signature, KernelWork> known_;
  double items_ = 0.0;  ///< cut so far
};

}  // namespace trifuse
