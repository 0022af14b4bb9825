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
  // Elements are taken in ascending order, each once; only the factor of a restricted space stays.
  data.factor = formulation == SpinFormulation::spin_orbital && space.restricted() ? 2.0 : 1.0;
  return data;
}

}  // namespace

int sets_of(const Problem& problem) {
  return problem.fock_in_singles ? 2 : 1;
}

void write_program(const Problem& problem, const TileSpace& space, const Task& task, int step,
                   ContractionList& contractions, TaskProgram& program) {
  list_contractions(space, problem.formulation, task, contractions, EquivalentTargets::computed);
  const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
  const int sides = problem.sides();
  program.data = task_data(space, problem.formulation, task);
  program.phases.assign(at(problem.targets() * phases_of_target), {});
  program.operations_of_element = 0.0;
  for (const Product& product : contractions.products) {
    const std::int64_t inner = contracted_extent(space, product.contracted).total();
    for (const Destination& destination : product.destinations) {
      const auto& slot = destination.slot;
      const int phase = phase_of(slot[0], slot[5] - 3);
      for (int n = 0; n < sides; ++n) {
        const Side side = sides == 2 && n == 0 ? Side::left : Side::right;
        TaskProgram::NamedPhase& named =
            program.phases[at((n * contractions.targets + destination.target) * phases_of_target + phase)];
        const auto& l = product.left;
        const auto& r = product.right;
        named.a = {PanelKind::left, side, 0, slot[1] > slot[2], {l[0], l[1], l[2], 0}};
        named.b = {PanelKind::right, side, 0, slot[3] > slot[4], {r[0], r[1], r[2], 0}};
        named.steps = static_cast<std::int32_t>(blocks(inner, step));
        program.operations_of_element += 2.0 * static_cast<double>(inner);
      }
    }
  }
  const int terms = disconnected_terms(problem.formulation);
  program.pairs.assign(at(terms * sets_of(problem)), {});
  for (const DisconnectedTerm& term : contractions.disconnected) {
    const int place = adapted ? term.particle * 6 + term.target : term.particle * 3 + term.hole;
    for (int set = 0; set < sets_of(problem); ++set) {
      const auto particle = [&](std::size_t n) { return task.particles[at(term.vvoo_particles[n])]; };
      const auto hole = [&](std::size_t n) { return task.holes[at(term.vvoo_holes[n])]; };
      program.pairs[at(set * terms + place)] = {true,
                                                {PanelKind::pairs,
                                                 Side::right,
                                                 static_cast<std::uint8_t>(set),
                                                 term.vvoo_holes[0] > term.vvoo_holes[1],
                                                 {particle(0), particle(1), hole(0), hole(1)}}};
    }
  }
}

Packing packing_of(const TileSpace& space, SpinFormulation formulation, const PanelName& name, std::int64_t stride) {
  const auto extent = [&](std::size_t n) { return static_cast<std::int32_t>(space[name.tiles[n]].size); };
  Packing p{};
  p.kind = name.kind;
  // First in the order of roles, as the host has it; exchanged below where positions run the other way.
  const auto set = [&](std::size_t position, std::size_t role, std::int64_t step) {
    p.extent[position] = extent(role);
    p.stride[position] = step;
  };
  const auto exchange = [&](std::size_t x, std::size_t y) {
    std::swap(p.extent[x], p.extent[y]);
    std::swap(p.stride[x], p.stride[y]);
  };
  ContractedIndex inner{};
  const PanelTiles tiles{name.tiles[0], name.tiles[1], name.tiles[2]};
  const std::int64_t n0 = extent(0), n1 = extent(1), n2 = extent(2);
  switch (name.kind) {
    case PanelKind::left:  // rows [p, h', h]
      set(0, 0, stride);
      set(1, 1, n0 * n2 * stride);
      set(2, 2, n0 * stride);
      p.outer = 1;
      if (name.swapped) {
        exchange(1, 2);
        p.outer = 2;
      }
      left_contracted_index(space, formulation, tiles, inner);
      break;
    case PanelKind::right:  // rows [p', p, h]
      set(0, 0, n1 * stride);
      set(1, 1, stride);
      set(2, 2, n0 * n1 * stride);
      p.outer = 2;
      if (name.swapped) exchange(0, 1);
      right_contracted_index(space, formulation, tiles, inner);
      break;
    case PanelKind::pairs:  // [p', p, h', h]
      set(0, 0, n1);
      set(1, 1, 1);
      set(2, 2, n0 * n1 * extent(3));
      set(3, 3, n0 * n1);
      p.outer = 2;
      if (name.swapped) {
        exchange(2, 3);
        p.outer = 3;
      }
      break;
  }
  p.inner = name.kind == PanelKind::pairs ? 1 : static_cast<std::int32_t>(contracted_extent(space, inner).total());
  p.outer_begin = 0;
  p.outer_count = p.extent[p.outer];
  return p;
}

std::int64_t packed_bytes(const TileSpace& space, SpinFormulation formulation, const PanelName& name) {
  // Strides do not matter here.
  return packed_size<Fp64>(packing_of(space, formulation, name, 1)) * static_cast<std::int64_t>(sizeof(double));
}

}  // namespace trifuse::gpu
