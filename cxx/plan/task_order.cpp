#include "cxx/plan/task_order.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace trifuse {

std::vector<std::size_t> grouped_order(std::span<const Task> tasks, const TileSpace& tiles, int group) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (group <= 0) return order;
  const int holes = tiles.hole_tiles(), last_tile = tiles.size() - holes - 1, last_group = last_tile / group;
  const auto turned = [](int position, int last, int outer) { return outer % 2 == 0 ? position : last - position; };
  std::vector<std::uint64_t> keys;
  keys.reserve(tasks.size());
  for (const Task& task : tasks) {
    const int first = (task.particles[0] - holes) / group, second = (task.particles[1] - holes) / group,
              third = task.particles[2] - holes;
    std::uint64_t key = 0;
    for (const int position : {first, turned(second, last_group, first), turned(third, last_tile, first + second)}) {
      constexpr int bits_of_tile = 21;
      key = key << bits_of_tile | static_cast<std::uint64_t>(position);
    }
    keys.push_back(key);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return keys[x] < keys[y]; });
  return order;
}

}
