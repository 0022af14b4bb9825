#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "cxx/cuda/kernel/launch.hpp"
#include "cxx/cuda/runtime/device_memory.hpp"
#include "cxx/cuda/runtime/launch_program.hpp"
#include "cxx/cuda/schedule/cta_tiles.hpp"
#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/cuda/schedule/product_schedule.hpp"
#include "tests/support/packed_panels.hpp"

namespace trifuse::gpu {

/// One task with random operands, in host memory and on the current device. The numbers do not depend on `Precision`,
/// in which the operands are packed.
template <typename Precision = Fp64>
class RandomTask {
 public:
  /// `extent` [a, b, c, i, j, k]: orbitals of the tiles. `contracted`: contracted indices of every product.
  /// `equal_particles`, `equal_holes`: as in TaskData. `left_size`, `right_size`: the largest magnitude in left and
  /// right panels.
  RandomTask(SpinFormulation formulation, const std::array<int, 6>& extent, int contracted, int equal_particles,
             int equal_holes, double left_size = 1.0, double right_size = 1.0)
      : formulation_(formulation),
        contracted_(contracted),
        left_size_(left_size),
        right_size_(right_size),
        task_(single_task(extent)) {
    task_.equal_particles = equal_particles;
    task_.equal_holes = equal_holes;
    const bool adapted = formulation == SpinFormulation::spin_adapted;
    for (int t = 0; t < targets_per_side(formulation); ++t) {
      for (int n = 0; n < products_per_target; ++n) add_product(axes_of_product(n));
    }
    for (int n = 0; n < disconnected_terms(formulation); ++n) {
      const int x = adapted ? n / 6 : n / 3;
      add_vvoo(x, adapted ? assignments[at(n % 6)][at(x)] : n % 3);
    }
    for (int n = 0; n < orbitals(); ++n) eps_.push_back(number() + (n < task_.offset[3] ? 2.0 : -2.0));
    for (int n = 0; n < orbitals() * orbitals(); ++n) ov_tensors_.push_back(number());
  }

  /// From now on these products of each target vanish. `products`: bit n stands for axes_of_product(n).
  void let_vanish(unsigned products) { vanishing_ = products; }

  /// One element [a, b, c, i, j, k] of a target in spin-orbital form: the sum of its products with their signs.
  double target(const std::array<int, 6>& e) const {
    double sum = 0.0;
    for (int n = 0; n < products_per_target; ++n) {
      if (vanishes(n)) continue;
      const ProductAxes axes = axes_of_product(n);
      const auto p = others(axes.particle), h = others(axes.hole);
      const auto& [left, right] = products_[at(n)];
      const double* l = left.row(e[at(axes.particle)], e[at(3 + h[0])], e[at(3 + h[1])]);
      const double* r = right.row(e[at(p[0])], e[at(p[1])], e[at(3 + axes.hole)]);
      for (int k = 0; k < contracted_; ++k) sum += product_sign(axes) * l[k] * r[k];
    }
    return sum;
  }

  /// What a kernel with the epilogue StoredTargets writes: [a, b, c, i, j, k]; `unset` where it writes nothing.
  std::vector<double> stored_target(const Kernel& kernel, double unset) const {
    std::size_t elements = 1;
    for (const int n : task_.extent) elements *= at(n);
    return run(kernel, std::vector<double>(elements, unset), false);
  }

  /// The energy sums of the task, see energy_sums().
  std::vector<double> energies(const Kernel& kernel) const {
    return run(kernel, std::vector<double>(at(energy_sums(formulation_))), true);
  }

 private:
  /// A panel in host memory, and packed on the device in precision `Packed`.
  template <typename Packed>
  struct Operand {
    Packing packing{};
    std::vector<double> dense;
    std::shared_ptr<DeviceArray<typename Packed::Operand>> packed;
    const double* row(int x, int y, int z) const {
      const auto& s = packing.stride;
      return dense.data() + x * s[0] + y * s[1] + z * s[2];
    }
  };
  struct Operands {
    Operand<Precision> left, right;
  };

  bool vanishes(int product) const { return (vanishing_ >> product % products_per_target & 1u) != 0; }
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  double number() { return std::uniform_real_distribution<double>(-1.0, 1.0)(random_); }
  std::int32_t orbitals() const { return task_.offset[5] + task_.extent[5]; }

  /// A panel of random numbers. `positions`: 0..5 of its indices in the task.
  template <typename Packed>
  Operand<Packed> operand(PanelKind kind, const std::vector<int>& positions) {
    Operand<Packed> made;
    Packing& p = made.packing;
    p.kind = kind;
    p.contracted = kind == PanelKind::vvoo ? 1 : contracted_;
    p.outer = kind == PanelKind::left ? 1 : 2;
    std::int64_t size = p.contracted;
    for (std::size_t q = positions.size(); q-- > 0;) {
      p.extent[q] = task_.extent[positions[q]];
      p.stride[q] = size;
      size *= p.extent[q];
    }
    p.outer_count = p.extent[p.outer];
    const double largest = kind == PanelKind::left ? left_size_ : kind == PanelKind::right ? right_size_ : 1.0;
    for (std::int64_t n = 0; n < size; ++n) made.dense.push_back(largest * number());
    made.packed =
        std::make_shared<DeviceArray<typename Packed::Operand>>(to_device(packed_panel<Packed>(p, made.dense.data())));
    return made;
  }
  void add_product(const ProductAxes& axes) {
    const auto p = others(axes.particle), h = others(axes.hole);
    products_.push_back({operand<Precision>(PanelKind::left, {axes.particle, 3 + h[0], 3 + h[1]}),
                         operand<Precision>(PanelKind::right, {p[0], p[1], 3 + axes.hole})});
  }
  void add_vvoo(int particle, int hole) {
    const auto p = others(particle), h = others(hole);
    vvoo_.push_back(operand<Fp64>(PanelKind::vvoo, {p[0], p[1], 3 + h[0], 3 + h[1]}));
  }

  /// Runs a kernel. `result`: before the launch; the epilogue writes it, or task_sums if `sum` is true.
  std::vector<double> run(const Kernel& kernel, std::vector<double> result, bool sum) const {
    CtaTiling tiling(kernel.shape);
    std::vector<CtaTile> cta_tiles;
    TaskData task = task_;
    append_cta_tiles(0, task, formulation_, kernel.shape, tiling, cta_tiles);
    task.cta_tiles = std::ssize(cta_tiles);
    std::vector<KernelProduct> products;
    for (const Operands& product : products_) {
      const auto k_steps = static_cast<std::int32_t>(ceil_div(contracted_, kernel.shape.format.k_step));
      products.push_back(vanishes(static_cast<int>(products.size()))
                             ? KernelProduct{}
                             : KernelProduct{product.left.packed->data(), product.right.packed->data(), k_steps, 0});
    }
    std::vector<const double*> vvoo;
    for (const Operand<Fp64>& block : vvoo_) vvoo.push_back(block.packed->data());
    // Few CTAs, so that each computes several CTA tiles.
    const int grid = static_cast<int>(std::min<std::size_t>(cta_tiles.size(), 3));
    const auto tasks = to_device(std::vector<TaskData>{task});
    const auto products_on_device = to_device(products);
    const auto vvoo_on_device = to_device(vvoo);
    const auto cta_tiles_on_device = to_device(cta_tiles);
    const auto eps = to_device(eps_), omega2 = to_device(std::vector<double>{0.1}), ov_tensors = to_device(ov_tensors_);
    const auto next_cta_tile = to_device(std::vector<std::uint32_t>{0});
    const auto out = to_device(result);
    const DeviceArray<double> scratch(
        static_cast<std::size_t>(scratch_doubles(grid, targets_per_side(formulation_), kernel.shape.cta_elements)));
    const DeviceArray<double> warp_sums(cta_tiles.size() * at(kernel.shape.warps * energy_sums(formulation_)));
    KernelParameters parameters = base_parameters(formulation_, 1, 1);
    parameters.tasks = tasks.data();
    parameters.products = products_on_device.data();
    parameters.vvoo = vvoo_on_device.data();
    parameters.cta_tiles = cta_tiles_on_device.data();
    parameters.eps = eps.data();
    parameters.omega2 = omega2.data();
    parameters.ov_tensors[0] = ov_tensors.data();
    parameters.warp_sums = sum ? warp_sums.data() : out.data();
    parameters.scratch = scratch.data();
    parameters.next_cta_tile = next_cta_tile.data();
    parameters.cta_tile_count = static_cast<std::uint32_t>(cta_tiles.size());
    parameters.orbitals = orbitals();
    parameters.omega2_count = 1;
    set_dynamic_shared_limit(kernel, formulation_, EnergyKind::one_side);
    launch(kernel, formulation_, EnergyKind::one_side, grid, parameters, nullptr);
    if (sum) launch_task_sums(parameters, formulation_, {&task, 1}, out.data(), nullptr);
    TRIFUSE_CUDA(cudaDeviceSynchronize());
    TRIFUSE_CUDA(cudaMemcpy(result.data(), out.data(), result.size() * sizeof(double), cudaMemcpyDeviceToHost));
    return result;
  }

  std::mt19937 random_{5};
  SpinFormulation formulation_;
  int contracted_;
  unsigned vanishing_ = 0;  ///< see let_vanish()
  double left_size_, right_size_;
  TaskData task_;
  std::vector<Operands> products_;   ///< [target, particle, hole]
  std::vector<Operand<Fp64>> vvoo_;  ///< [vvoo block]
  std::vector<double> eps_;          ///< [orbital] hartree
  std::vector<double> ov_tensors_;   ///< [particle orbital, hole orbital]
};

}
