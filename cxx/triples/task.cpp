#include "cxx/triples/task.hpp"

#include <algorithm>

namespace trifuse {

namespace {

using Triple = std::array<int, 3>;

int spin_sum(const TileSpace& space, const Triple& t) {
  return spin_number(space[t[0]].spin()) + spin_number(space[t[1]].spin()) + spin_number(space[t[2]].spin());
}

int irrep_product(const TileSpace& space, const Triple& t) {
  return space[t[0]].irrep ^ space[t[1]].irrep ^ space[t[2]].irrep;
}

/// Returns true if the tiles have too few orbitals for a non-zero element. In the spin-orbital formulation the three
/// orbitals must differ. In the spin-adapted formulation at most two may be equal.
bool vanishes(const TileSpace& space, SpinFormulation formulation, const Triple& t) {
  if (formulation == SpinFormulation::spin_adapted) return t[0] == t[2] && space[t[0]].size < 2;
  if (t[0] == t[2]) return space[t[0]].size < 3;
  return (t[0] == t[1] && space[t[0]].size < 2) || (t[1] == t[2] && space[t[1]].size < 2);
}

double multiplicity(const Triple& t) {
  if (t[0] == t[2]) return 6.0;
  return t[0] == t[1] || t[1] == t[2] ? 2.0 : 1.0;
}

/// The tiles begin, ..., end - 1.
struct TileRange {
  int begin, end;
};
/// Calls the function for each ascending triple with one tile of each range. Two ranges are either equal or follow one
/// another.
template <typename Function>
void for_ascending(const std::array<TileRange, 3>& ranges, Function function) {
  for (int x = ranges[0].begin; x < ranges[0].end; ++x) {
    for (int y = std::max(x, ranges[1].begin); y < ranges[1].end; ++y) {
      for (int z = std::max(y, ranges[2].begin); z < ranges[2].end; ++z) function(Triple{x, y, z});
    }
  }
}

std::vector<Task> tasks_within(const TileSpace& space, SpinFormulation formulation,
                               const std::array<TileRange, 3>& particles, const std::array<TileRange, 3>& holes) {
  std::vector<Task> tasks;
  for_ascending(particles, [&](const Triple& p) {
    if (vanishes(space, formulation, p)) return;
    for_ascending(holes, [&](const Triple& h) {
      if (task_exists(space, formulation, p, h)) tasks.push_back(make_task(space, formulation, p, h));
    });
  });
  return tasks;
}

}

bool task_exists(const TileSpace& space, SpinFormulation formulation, const Triple& particles, const Triple& holes) {
  if (vanishes(space, formulation, particles) || vanishes(space, formulation, holes)) return false;
  if ((irrep_product(space, particles) ^ irrep_product(space, holes)) != 0) return false;
  const int upper = spin_sum(space, particles);
  if (upper != spin_sum(space, holes)) return false;
  return formulation == SpinFormulation::spin_adapted || !space.restricted() || 2 * upper <= 8;
}

Task make_task(const TileSpace& space, SpinFormulation formulation, const Triple& particles, const Triple& holes) {
  Task task{particles, holes, 1.0 / (multiplicity(particles) * multiplicity(holes)), SpinCase::aab};
  if (formulation == SpinFormulation::spin_adapted) return task;
  if (space.restricted()) task.weight *= 2.0;
  task.spin_case = static_cast<SpinCase>(spin_sum(space, particles) - 3);
  return task;
}

std::vector<Task> enumerate_tasks(const TileSpace& space, SpinFormulation formulation) {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  const int particle_end = adapted ? space.last(OrbitalClass::particle_alpha) : space.size();
  const int hole_end = adapted ? space.last(OrbitalClass::hole_alpha) : space.hole_tiles();
  const TileRange p{space.hole_tiles(), particle_end};
  const TileRange h{0, hole_end};
  return tasks_within(space, formulation, {p, p, p}, {h, h, h});
}

std::vector<Task> refine_task(const TileSpace& coarse, const TileSpace& fine, SpinFormulation formulation,
                              const Task& task) {
  const auto inside = [&](int t) {
    const auto tiles = fine.tiles();
    const auto at = [&](std::int64_t orbital) {
      return static_cast<int>(
          std::partition_point(tiles.begin(), tiles.end(), [&](const Tile& tile) { return tile.offset < orbital; }) -
          tiles.begin());
    };
    return TileRange{at(coarse[t].offset), at(coarse[t].offset + coarse[t].size)};
  };
  const auto ranges = [&](const Triple& t) { return std::array{inside(t[0]), inside(t[1]), inside(t[2])}; };
  return tasks_within(fine, formulation, ranges(task.particles), ranges(task.holes));
}

std::string to_string(SpinFormulation formulation) {
  return formulation == SpinFormulation::spin_adapted ? "spin-adapted" : "spin-orbital";
}

}
