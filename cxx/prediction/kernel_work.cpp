#include "cxx/prediction/kernel_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cxx/base/error.hpp"

namespace trifuse {

namespace {

/// Those of the kernels for matrix instructions, see cxx/cuda/schedule/configuration.hpp.
std::vector<gpu::Shape> matrix_shapes() {
  constexpr std::int64_t size = sizeof(gpu::Fp64::Operand);
  const auto shape = [](int a, int b, int c) {
    return gpu::Shape{{a, b, c}, 8, 40960, gpu::Fp64::a_chunk * size, gpu::Fp64::b_chunk * size, 49152, 24};
  };
  return {shape(4, 4, 2), shape(4, 2, 4), shape(2, 4, 4)};
}

/// About how many items a task is cut into.
double expected_items(const gpu::TaskProgram& program) {
  constexpr double hole_box = 4.0, particle_box = 6.0;
  double items = 1.0;
  for (std::size_t q = 0; q < 6; ++q) items *= std::ceil(program.data.extent[q] / (q < 3 ? particle_box : hole_box));
  return items;
}

}  // namespace

double KernelWork::filled() const {
  return steps > 0.0 ? std::min(1.0, operations / (steps * operations_of_step)) : 0.0;
}

KernelWork& KernelWork::operator+=(const KernelWork& other) {
  steps += other.steps;
  targets += other.targets;
  items += other.items;
  operations += other.operations;
  return *this;
}

KernelWorkModel::KernelWorkModel(SpinFormulation formulation)
    : formulation_(formulation), shapes_(matrix_shapes()), covers_(shapes_) {}

const KernelWork& KernelWorkModel::work(const gpu::TaskProgram& program) {
  std::int64_t steps = 0;
  for (const auto& phase : program.phases) steps += phase.steps;
  Signature signature{};
  for (std::size_t q = 0; q < 6; ++q) signature[q] = program.data.extent[q];
  signature[6] = program.data.equal_particles;
  signature[7] = program.data.equal_holes;
  signature[8] = static_cast<std::int32_t>(steps);
  signature[9] = static_cast<std::int32_t>(program.operations_of_element);
  const auto found = known_.find(signature);
  if (found != known_.end()) return found->second;
  constexpr double most_of_task = 1e7, most_in_all = 2e8;
  const double items = expected_items(program);
  items_ += items;
  const auto& extent = program.data.extent;
  constexpr int most_holes = 255 * gpu::hole_block;  // that an item can number
  if (items > most_of_task || items_ > most_in_all || std::max({extent[3], extent[4], extent[5]}) > most_holes) {
    throw UsageError(
        fmt::format("A prediction for tiles of {} occupied and {} virtual orbitals would take too long; take a smaller "
                    "--tile-size.",
                    std::max({extent[3], extent[4], extent[5]}), std::max({extent[0], extent[1], extent[2]})));
  }
  return known_.emplace(signature, cut(program, steps)).first->second;
}

KernelWork KernelWorkModel::cut(const gpu::TaskProgram& program, std::int64_t steps) {
  const auto extent = [&](std::size_t q) { return static_cast<int>(program.data.extent[q]); };
  const std::size_t kernel = covers_.best({extent(0), extent(1), extent(2)});
  gpu::BoxCover& cover = covers_.cover(kernel);
  std::vector<gpu::Item> items;
  const double share = gpu::append_items(0, program.data, formulation_, shapes_[kernel], cover, items);
  KernelWork work;
  const int targets = formulation_ == SpinFormulation::spin_adapted ? 6 : 1;
  for (const gpu::Item& item : items) {
    const int computed = formulation_ == SpinFormulation::spin_adapted
                             ? gpu::computed_targets(gpu::equal_hole_blocks(program.data, item))
                             : 1;
    work.steps += cover.item_cost({item.warps[0], item.warps[1], item.warps[2]}) * static_cast<double>(steps) *
                  computed / targets;
    work.targets += computed;
  }
  work.items = static_cast<double>(items.size());
  work.operations = share * program.operations_of_element;
  for (std::size_t q = 0; q < 6; ++q) work.operations *= extent(q);
  return work;
}

}  // namespace trifuse
