#include "cxx/cuda/schedule/task_program.hpp"

#include <algorithm>
#include <utility>

namespace trifuse::gpu {

namespace {

std::size_t at(int n) {
  return static_cast<std::size_t>(n);
}

TaskData task_data(const TileSpace& space, SpinFormulation formulation, const Task& task) {
  TaskData data{};
  const auto equal = [](const std::array<int, 3>& t) { return (t[0] == t[1] ? 1 : 0) | (t[1] == t[2] ? 2 : 0); };
  for (std::size_t q = 0; q < 3; ++q) {
    data.extent[q] = static_cast<std::int32_t>(space[task.particles[q]].size);
    data.extent[3 + q] = static_cast<std::int32_t>(space[task.holes[q]].size);
    data.offset[q] = static_cast<std::int32_t>(space[task.particles[q]].offset);
    data.offset[3 + q] = static_cast<std::int32_t>(space[task.holes[q]].offset);
  }
  data.equal_particles = equal(task.particles);
  data.equal_holes = equal(task.holes);
  // Each excitation is computed once, so the weight is only that of a restricted space.
  data.weight = formulation == SpinFormulation::spin_orbital && space.restricted() ? 2.0 : 1.0;
  return data;
}

}

std::size_t PanelName::Hash::operator()(const PanelName& name) const {
  std::size_t hash = static_cast<std::size_t>(name.key.kind) << 24 | static_cast<std::size_t>(name.key.side) << 16 |
                     std::size_t{name.key.set} << 8 | std::size_t{name.swapped};
  for (const int tile : name.key.tiles) hash = (hash ^ static_cast<std::size_t>(tile)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

void write_program(const Problem& problem, const TileSpace& space, const Task& task, const OperandFormat& format,
                   ContractionList& contractions, TaskProgram& program) {
  list_contractions(space, problem.formulation, task, contractions, EquivalentTargets::computed);
  const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
  const int sides = problem.sides();
  program.data = task_data(space, problem.formulation, task);
  program.products.assign(at(problem.targets() * products_per_target), {});
  program.operations_of_element = 0.0;
  for (const Product& product : contractions.products) {
    const std::int64_t contracted = contracted_extent(space, product.contracted).total();
    for (const Destination& destination : product.destinations) {
      const auto& slot = destination.slot;
      const int number = product_index(slot[0], slot[5] - 3);
      for (int n = 0; n < sides; ++n) {
        const Side side = n + 1 == sides ? Side::right : left_side(n);
        TaskProgram::NamedProduct& named =
            program.products[at((n * contractions.targets + destination.target) * products_per_target + number)];
        named.a = {PanelKey::left(product.left, side), slot[1] > slot[2], format};
        named.b = {PanelKey::right(product.right, side), slot[3] > slot[4], format};
        named.k_steps = static_cast<std::int32_t>(ceil_div(contracted, format.k_step));
        program.operations_of_element += 2.0 * static_cast<double>(contracted);
      }
    }
  }
  const int terms = disconnected_terms(problem.formulation);
  program.vvoo.assign(at(terms * problem.disconnected_sets()), {});
  for (const DisconnectedTerm& term : contractions.disconnected) {
    const int place = adapted ? term.particle * 6 + term.target : term.particle * 3 + term.hole;
    for (int set = 0; set < problem.disconnected_sets(); ++set) {
      program.vvoo[at(set * terms + place)] = {
          true, {PanelKey::vvoo(at(set), term.vvoo_tiles(task)), term.vvoo_holes[0] > term.vvoo_holes[1], vvoo_format}};
    }
  }
}

Packing packing_of(const TileSpace& space, SpinFormulation formulation, const PanelName& name, std::int64_t stride) {
  const auto extent = [&](std::size_t n) { return static_cast<std::int32_t>(space[name.key.tiles[n]].size); };
  Packing p{};
  p.kind = name.key.kind;
  // `role` counts the indices in the order of name.key.tiles. If two of them have reversed positions, they are
  // exchanged below.
  const auto set = [&](std::size_t position, std::size_t role, std::int64_t step) {
    p.extent[position] = extent(role);
    p.stride[position] = step;
  };
  ContractedIndex contracted{};
  const PanelTiles tiles{name.key.tiles[0], name.key.tiles[1], name.key.tiles[2]};
  const std::int64_t n0 = extent(0), n1 = extent(1), n2 = extent(2);
  switch (name.key.kind) {
    case PanelKind::left:  // host's panel [h, h', p, contracted index]
      set(0, 0, stride);
      set(1, 1, n0 * n2 * stride);
      set(2, 2, n0 * stride);
      p.outer = 1;
      left_contracted_index(space, formulation, tiles, contracted);
      break;
    case PanelKind::right:  // host's panel [h, p, p', contracted index]
      set(0, 0, n1 * stride);
      set(1, 1, stride);
      set(2, 2, n0 * n1 * stride);
      p.outer = 2;
      right_contracted_index(space, formulation, tiles, contracted);
      break;
    case PanelKind::vvoo:  // host's block [h, h', p, p']
      set(0, 0, n1);
      set(1, 1, 1);
      set(2, 2, n0 * n1 * extent(3));
      set(3, 3, n0 * n1);
      p.outer = 2;
      break;
    case PanelKind::factors_vv:  // slabs of factors are not packed
    case PanelKind::factors_ov:
    case PanelKind::factors_oo:
      break;
  }
  if (name.swapped) {
    const std::size_t first = first_ordered_index(name.key.kind);
    std::swap(p.extent[first], p.extent[first + 1]);
    std::swap(p.stride[first], p.stride[first + 1]);
    if (p.outer == static_cast<std::int32_t>(first)) ++p.outer;
  }
  p.contracted =
      name.key.kind == PanelKind::vvoo ? 1 : static_cast<std::int32_t>(contracted_extent(space, contracted).total());
  p.outer_begin = 0;
  p.outer_count = p.extent[p.outer];
  return p;
}

std::int64_t packed_bytes(const TileSpace& space, SpinFormulation formulation, const PanelName& name) {
  // The size does not depend on strides.
  return packed_bytes(packing_of(space, formulation, name, 1), name.format);
}

}
