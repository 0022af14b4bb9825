#include "cxx/prediction/inspector.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/cuda/schedule/layout.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"
#include "cxx/cuda/schedule/split_half_units.hpp"
#include "cxx/operands/factor_products.hpp"
#include "cxx/operands/panel_layout.hpp"
#include "cxx/parallel/task_run.hpp"
#include "cxx/plan/strata.hpp"

namespace trifuse {

namespace {

/// Packs the name of a panel into an integer. All panels of a plan have the same operand format.
std::uint64_t key_of(const gpu::PanelName& name) {
  // A tile number has 12 bits. With more tiles a plan would have more tasks than can be listed.
  std::uint64_t key = static_cast<std::uint64_t>(name.key.set) << 6 | static_cast<std::uint64_t>(name.key.kind) << 3 |
                      static_cast<std::uint64_t>(name.key.side) << 1 | static_cast<std::uint64_t>(name.swapped);
  for (const int tile : name.key.tiles) key = key << 12 | static_cast<std::uint64_t>(tile);
  return key;
}

/// Returns the size of a panel in host memory, doubles.
std::int64_t host_doubles(const gpu::Packing& packing) {
  const std::int64_t rows = std::int64_t{packing.extent[0]} * packing.extent[1] * packing.extent[2];
  return rows * (packing.kind == PanelKind::vvoo ? packing.extent[3] : padded_row(packing.contracted));
}

}

Inspection::Inspection(const Plan& plan, const Problem& problem, Precision precision)
    : Inspection(plan, problem, kernel_shapes(precision)) {
  if (precision == Precision::fp64) return;
  const Plan part = part_of(plan, expected_sample(plan));
  sample_ = std::make_shared<const Sample>(Sample{part, Inspection(part, problem)});
}

Precision Inspection::precision() const {
  return gpu::precision_of(shape_.format);
}

Inspection::Inspection(const Plan& plan, const Problem& problem, std::span<const gpu::Shape> shapes)
    : shape_(shapes.front()) {
  KernelWorkModel model(plan.formulation, {shapes.begin(), shapes.end()});
  std::unordered_map<const KernelWork*, std::uint32_t> kind_numbers;
  std::unordered_map<std::uint64_t, std::uint32_t> panel_numbers;
  std::map<PanelKey, std::uint32_t> slab_numbers;
  std::vector<std::size_t> last_task;  // [panel] the last task that reads it
  const std::int64_t auxiliary = PanelLayout::auxiliary_of(problem);
  const std::vector<DisconnectedSet> sets = problem.sets();
  slab_begin_.push_back(0);
  ContractionList contractions;
  gpu::TaskProgram program;
  kind_.reserve(plan.tasks.size());
  panel_begin_.reserve(plan.tasks.size() + 1);
  panel_begin_.push_back(0);
  double bytes = 0.0;
  // Derivatives in mixed precision have panels in two formats of one size.
  const double copies_of_panels =
      static_cast<double>(gpu::bytes_per_number(problem, shape_.format)) / shape_.format.bytes_per_number();
  // Notes how the device makes a panel from factors. The amplitudes of the panel are sent.
  const auto add_making = [&](const PanelKey& key, const gpu::Packing& packing) {
    const PanelFactorRows rows = factor_rows(plan.tiles, plan.formulation, key);
    const std::int64_t amplitudes = key.kind == PanelKind::vvoo ? 0 : packing.contracted - rows.length;
    const std::int64_t sides = key.kind == PanelKind::right ? problem.sides() : 1;
    sent_.back() = static_cast<double>(rows.count() * padded_row(sides * amplitudes)) * sizeof(double);
    const auto products = factor_products(plan.tiles, plan.formulation, key);
    for (const FactorProduct& product : products) {
      for (const PanelKey& slab : {product.first, product.second}) {
        const auto [it, is_new] = slab_numbers.try_emplace(slab, static_cast<std::uint32_t>(slab_bytes_.size()));
        if (is_new) slab_bytes_.push_back(static_cast<double>(gpu::slab_shape(plan.tiles, auxiliary, slab).bytes()));
        slabs_.push_back(it->second);
      }
    }
    making_.back() = 2.0 * static_cast<double>(products.size()) * static_cast<double>(rows.count() * rows.length) *
                     static_cast<double>(auxiliary);
  };
  const auto add = [&](const gpu::PanelName& name) {
    const auto [it, is_new] = panel_numbers.try_emplace(key_of(name), static_cast<std::uint32_t>(sent_.size()));
    const std::uint32_t number = it->second;
    if (is_new) {
      const gpu::Packing packing = gpu::packing_of(plan.tiles, plan.formulation, name, 1);
      const double copies = name.key.kind == PanelKind::vvoo ? 1.0 : copies_of_panels;
      sent_.push_back(static_cast<double>(host_doubles(packing)) * sizeof(double));
      on_device_.push_back(copies * static_cast<double>(gpu::packed_bytes(packing, name.format)));
      making_.push_back(0.0);
      if (auxiliary > 0 && made_from_factors(sets, name.key)) add_making(name.key, packing);
      sent_.back() *= copies;
      making_.back() *= copies;
      slab_begin_.push_back(static_cast<std::uint32_t>(slabs_.size()));
      last_task.push_back(plan.tasks.size());
    }
    if (last_task[number] == kind_.size()) return;
    last_task[number] = kind_.size();
    panels_.push_back(number);
    bytes += on_device_[number];
  };
  for (const Task& task : plan.tasks) {
    gpu::write_program(problem, plan.tiles, task, shape_.format, contractions, program);
    bytes = 0.0;
    for (const auto& product : program.products) {
      if (product.k_steps == 0) continue;
      add(product.a);
      add(product.b);
    }
    for (const auto& vvoo : program.vvoo) {
      if (vvoo.used) add(vvoo.name);
    }
    largest_task_ = std::max(largest_task_, bytes);
    panel_begin_.push_back(panels_.size());
    const KernelWork& work = model.work(program);
    const auto [it, is_new] = kind_numbers.try_emplace(&work, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) kinds_.push_back(work);
    kind_.push_back(it->second);
  }
}

std::span<const std::uint32_t> Inspection::panels(std::size_t task) const {
  return std::span(panels_).subspan(panel_begin_[task], panel_begin_[task + 1] - panel_begin_[task]);
}

double Inspection::all_bytes_on_device() const {
  return std::accumulate(on_device_.begin(), on_device_.end(), 0.0);
}

double Inspection::all_making() const {
  return std::accumulate(making_.begin(), making_.end(), 0.0);
}

double Inspection::all_bytes_on_device_of_sent() const {
  double bytes = 0.0;
  for (std::uint32_t panel = 0; panel < panel_count(); ++panel) {
    if (slabs(panel).empty()) bytes += on_device_[panel];
  }
  return bytes;
}

std::span<const std::uint32_t> Inspection::slabs(std::uint32_t panel) const {
  return std::span(slabs_).subspan(slab_begin_[panel], slab_begin_[panel + 1] - slab_begin_[panel]);
}

}
