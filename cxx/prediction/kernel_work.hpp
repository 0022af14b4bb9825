#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/launch_shapes.hpp"
#include "cxx/cuda/schedule/task_program.hpp"
#include "cxx/triples/precision.hpp"

namespace trifuse {

/// What determines the time of the kernel for a task. The first three numbers include padding.
struct KernelWork {
  double executed = 0.0;    ///< floating-point operations of the products in full CTA tiles, with padding
  double targets = 0.0;     ///< number of targets of CTA tiles that are computed
  double cta_tiles = 0.0;   ///< number of CTA tiles
  double operations = 0.0;  ///< floating-point operations of the products, without padding

  /// Returns the fraction of the executed operations that are not padding, 0 to 1. Padding multiplies zeros.
  double filled() const;
  KernelWork& operator+=(const KernelWork& other);
};

/// Returns the shapes of the kernels among which a run in this precision chooses on a GPU of compute capability 9.0.
std::span<const gpu::Shape> kernel_shapes(Precision precision);

/// Computes the kernel work of tasks. It divides a task into CTA tiles as the GPU executor does, but only once for all
/// tasks of the same shape.
class KernelWorkModel {
 public:
  /// `shapes`: the shapes of the kernels among which a run chooses.
  explicit KernelWorkModel(SpinFormulation formulation, std::vector<gpu::Shape> shapes);
  /// Returns the work of the task that has this program. The reference stays valid. Throws UsageError if the task is so
  /// large, or if there are so many shapes, that the tiling would take minutes, or if a tile is too large for a kernel.
  const KernelWork& work(const gpu::TaskProgram& program);

 private:
  /// What tasks of the same shape have in common: extents, equal tiles, k-steps, and operations of an element.
  using Signature = std::array<std::int32_t, 10>;
  /// Divides a task into CTA tiles and sums up its work. `k_steps`: number of instructions along the contracted indices
  /// of all products together.
  KernelWork divide(const gpu::TaskProgram& program, std::int64_t k_steps);

  SpinFormulation formulation_;
  std::vector<gpu::Shape> shapes_;
  gpu::ShapeSelector selector_;
  std::map<Signature, KernelWork> known_;
  double cta_tiles_ = 0.0;  ///< estimated number of CTA tiles so far
};

}
