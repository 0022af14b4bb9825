#include "cxx/prediction/kernel_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Returns the approximate number of CTA tiles of a task.
double expected_cta_tiles(const gpu::TaskProgram& program) {
  constexpr double particle_extent = 6.0;
  double cta_tiles = 1.0;
  for (std::size_t q = 0; q < 6; ++q)
    cta_tiles *= std::ceil(program.data.extent[q] / (q < 3 ? particle_extent : gpu::hole_group_size));
  return cta_tiles;
}

}

std::span<const gpu::Shape> kernel_shapes(Precision precision) {
  if (precision == Precision::fp64) return gpu::BulkKernels::shapes;
  // The kernel of Hopper GPUs. On other GPUs only the CTA tiles at the edges of a task differ.
  return std::span<const gpu::Shape>(gpu::MixedKernels::shapes).first(1);
}

double KernelWork::filled() const {
  return executed > 0.0 ? std::min(1.0, operations / executed) : 0.0;
}

KernelWork& KernelWork::operator+=(const KernelWork& other) {
  executed += other.executed;
  targets += other.targets;
  cta_tiles += other.cta_tiles;
  operations += other.operations;
  return *this;
}

KernelWorkModel::KernelWorkModel(SpinFormulation formulation, std::vector<gpu::Shape> shapes)
    : formulation_(formulation), shapes_(std::move(shapes)), selector_(shapes_) {}

const KernelWork& KernelWorkModel::work(const gpu::TaskProgram& program) {
  std::int64_t k_steps = 0;
  for (const auto& product : program.products) k_steps += product.k_steps;
  Signature signature{};
  for (std::size_t q = 0; q < 6; ++q) signature[q] = program.data.extent[q];
  signature[6] = program.data.equal_particles;
  signature[7] = program.data.equal_holes;
  signature[8] = static_cast<std::int32_t>(k_steps);
  signature[9] = static_cast<std::int32_t>(program.operations_of_element);
  const auto found = known_.find(signature);
  if (found != known_.end()) return found->second;
  constexpr double max_of_task = 1e7, max_total = 2e8;
  const double cta_tiles = expected_cta_tiles(program);
  cta_tiles_ += cta_tiles;
  const auto& extent = program.data.extent;
  if (cta_tiles > max_of_task || cta_tiles_ > max_total ||
      std::max({extent[3], extent[4], extent[5]}) > gpu::max_holes) {
    throw UsageError(fmt::format(
        "A prediction for tiles of {} occupied and {} virtual orbitals would take too long; use a smaller --tile-size.",
        std::max({extent[3], extent[4], extent[5]}), std::max({extent[0], extent[1], extent[2]})));
  }
  return known_.emplace(signature, divide(program, k_steps)).first->second;
}

KernelWork KernelWorkModel::divide(const gpu::TaskProgram& program, std::int64_t k_steps) {
  const auto extent = [&](std::size_t q) { return static_cast<int>(program.data.extent[q]); };
  const std::size_t kernel = selector_.best({extent(0), extent(1), extent(2)});
  gpu::CtaTiling& tiling = selector_.tiling(kernel);
  std::vector<gpu::CtaTile> cta_tiles;
  const gpu::Shape& shape = shapes_[kernel];
  const double share = gpu::append_cta_tiles(0, program.data, formulation_, shape, tiling, cta_tiles);
  // A multiplication and an addition for each element and each contracted index count as two operations.
  const double full_cta_tile = 2.0 * shape.format.k_step * shape.cta_elements;
  KernelWork work;
  const int targets = targets_per_side(formulation_);
  for (const gpu::CtaTile& cta_tile : cta_tiles) {
    const int computed = formulation_ == SpinFormulation::spin_adapted
                             ? gpu::computed_targets(gpu::equal_hole_groups(program.data, cta_tile))
                             : 1;
    work.executed += full_cta_tile * tiling.cta_tile_cost({cta_tile.warps[0], cta_tile.warps[1], cta_tile.warps[2]}) *
                     static_cast<double>(k_steps) * computed / targets;
    work.targets += computed;
  }
  work.cta_tiles = static_cast<double>(cta_tiles.size());
  work.operations = share * program.operations_of_element;
  for (std::size_t q = 0; q < 6; ++q) work.operations *= extent(q);
  return work;
}

}
