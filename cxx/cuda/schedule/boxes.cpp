#include "cxx/cuda/schedule/boxes.hpp"

#include <algorithm>
#include <limits>

#include "cxx/triples/terms.hpp"

namespace trifuse::gpu {

namespace {

/// Larger extents are cut before the search; it would take long and gain nothing.
constexpr int largest_search = 20;
constexpr int cut = 8;
/// A multiprocessor has four quarters, and warps are dealt to them in turn.
constexpr int quarters = 4;

/// Bytes of a chunk of A and B with particle x alone.
std::int64_t chunk_bytes(const Shape& shape, const std::array<int, 3>& warps, int x) {
  const auto particles = [&](int q) {
    return std::int64_t{warps[static_cast<std::size_t>(q)]} * shape.sub[static_cast<std::size_t>(q)];
  };
  const auto [u, w] = others(x);
  return particles(x) * shape.a_chunk_bytes + particles(u) * particles(w) / pair * shape.b_chunk_bytes;
}

std::int64_t mean_stage_bytes(const Shape& shape, const std::array<int, 3>& warps) {
  return (chunk_bytes(shape, warps, 0) + chunk_bytes(shape, warps, 1) + chunk_bytes(shape, warps, 2)) / 3;
}

}  // namespace

std::int64_t stage_bytes(const Shape& shape, const std::array<int, 3>& warps) {
  return std::max({chunk_bytes(shape, warps, 0), chunk_bytes(shape, warps, 1), chunk_bytes(shape, warps, 2)});
}

bool fits(const Shape& shape, const std::array<int, 3>& warps) {
  if (warps[0] * warps[1] * warps[2] > shape.warps || stage_bytes(shape, warps) > shape.stage_bytes) return false;
  const std::int64_t a = warps[0] * shape.sub[0], b = warps[1] * shape.sub[1], c = warps[2] * shape.sub[2];
  constexpr std::int64_t block_bytes = hole_block * hole_block * static_cast<std::int64_t>(sizeof(double));
  if (a + b + c > shape.box_particles) return false;
  return shape.pair_bytes == 0 || 3 * block_bytes * (b * c + a * c + a * b) <= shape.pair_bytes;
}

BoxCover::BoxCover(const Shape& shape) : shape_(shape) {}

double BoxCover::item_cost(const std::array<int, 3>& warps) const {
  const int count = warps[0] * warps[1] * warps[2];
  const double busiest = static_cast<double>((count + quarters - 1) / quarters) /
                         static_cast<double>((shape_.warps + quarters - 1) / quarters);
  // A lone warp on a quarter waits for its operands.
  const double waiting = busiest < 1.0 ? 0.05 : 0.0;
  // Bytes come in time for all arrangements that fit; among equals the one that asks for less leaves more to others.
  const double bytes =
      0.02 * static_cast<double>(mean_stage_bytes(shape_, warps)) / static_cast<double>(shape_.stage_bytes);
  return 0.04 + 0.94 * busiest + waiting + bytes;
}

const BoxCover::Choice& BoxCover::choose(const std::array<int, 3>& n) {
  const auto found = choices_.find(n);
  if (found != choices_.end()) return found->second;
  Choice best{std::numeric_limits<double>::infinity(), -1, 0};
  if (fits(shape_, n)) best.cost = item_cost(n);
  for (int axis = 0; axis < 3; ++axis) {
    const auto d = static_cast<std::size_t>(axis);
    const auto split = [&](int part) {
      std::array<int, 3> one = n, other = n;
      one[d] = part;
      other[d] = n[d] - part;
      const double total = choose(one).cost + choose(other).cost;
      if (total < best.cost - 1e-12) best = {total, axis, part};
    };
    if (n[d] > largest_search) {
      split(cut);
      break;
    }
    if (std::any_of(n.begin(), n.end(), [](int x) { return x > largest_search; })) continue;
    for (int part = 1; part <= n[d] / 2; ++part) split(part);
  }
  return choices_.emplace(n, best).first->second;
}

void BoxCover::collect(const std::array<int, 3>& first, const std::array<int, 3>& n, std::vector<WarpBox>& boxes) {
  const Choice choice = choose(n);
  if (choice.axis < 0) {
    WarpBox box{first, n};
    for (std::size_t q = 0; q < 3; ++q) box.first[q] *= shape_.sub[q];
    boxes.push_back(box);
    return;
  }
  const auto d = static_cast<std::size_t>(choice.axis);
  // The larger part first.
  std::array<int, 3> one = n, other = n, other_first = first;
  one[d] = n[d] - choice.first_part;
  other[d] = choice.first_part;
  other_first[d] += one[d];
  collect(first, one, boxes);
  collect(other_first, other, boxes);
}

std::array<int, 3> BoxCover::sub_boxes(const std::array<int, 3>& extent) const {
  std::array<int, 3> n{};
  for (std::size_t q = 0; q < 3; ++q) n[q] = static_cast<int>(blocks(extent[q], shape_.sub[q]));
  return n;
}

const std::vector<WarpBox>& BoxCover::boxes(const std::array<int, 3>& extent) {
  const auto found = covers_.find(extent);
  if (found != covers_.end()) return found->second;
  std::vector<WarpBox> boxes;
  collect({0, 0, 0}, sub_boxes(extent), boxes);
  return covers_.emplace(extent, std::move(boxes)).first->second;
}

double BoxCover::cost(const std::array<int, 3>& extent) {
  return choose(sub_boxes(extent)).cost;
}

CoverChoice::CoverChoice(const std::vector<Shape>& shapes) : covers_(shapes.begin(), shapes.end()) {}

std::size_t CoverChoice::best(const std::array<int, 3>& extent) {
  std::size_t best = 0;
  for (std::size_t n = 1; n < covers_.size(); ++n) {
    if (covers_[n].cost(extent) < covers_[best].cost(extent)) best = n;
  }
  return best;
}

double append_items(std::uint32_t task_number, const TaskData& task, SpinFormulation formulation, const Shape& shape,
                    BoxCover& cover, std::vector<Item>& items) {
  // In spin-orbital form equal indices vanish, so that ascending order is strict.
  const int gap = formulation == SpinFormulation::spin_orbital ? 1 : 0;
  const auto ascending = [&](int equal, const std::array<int, 3>& first, const std::array<int, 3>& last) {
    for (std::size_t q = 0; q < 2; ++q) {
      if ((equal >> q & 1) != 0 && first[q] + gap > last[q + 1]) return false;
    }
    return equal != 3 || first[0] + 2 * gap <= last[2];
  };
  const auto extent = [&](std::size_t q) { return static_cast<int>(task.extent[q]); };
  struct HoleBlocks {
    std::array<int, 3> block;
    double elements;  ///< of a full target
  };
  const auto equal_blocks = [&](const std::array<int, 3>& block) {
    Item item{};
    for (std::size_t q = 0; q < 3; ++q) item.hole_block[q] = static_cast<std::uint8_t>(block[q]);
    return equal_hole_blocks(task, item);
  };
  std::vector<HoleBlocks> holes;
  std::array<int, 3> h{};
  const auto count = [&](std::size_t q) { return static_cast<int>(blocks(extent(3 + q), hole_block)); };
  for (h[2] = 0; h[2] < count(2); ++h[2]) {
    for (h[1] = 0; h[1] < count(1); ++h[1]) {
      for (h[0] = 0; h[0] < count(0); ++h[0]) {
        std::array<int, 3> first{}, last{};
        double elements = 1.0;
        for (std::size_t q = 0; q < 3; ++q) {
          first[q] = h[q] * hole_block;
          last[q] = std::min(first[q] + hole_block, extent(3 + q)) - 1;
          elements *= last[q] - first[q] + 1;
        }
        if (!ascending(task.equal_holes, first, last)) continue;
        if (formulation == SpinFormulation::spin_adapted) elements *= computed_targets(equal_blocks(h)) / 6.0;
        holes.push_back({h, elements});
      }
    }
  }
  double computed = 0.0, all = 1.0;
  for (std::size_t q = 0; q < 6; ++q) all *= extent(q);
  for (const WarpBox& box : cover.boxes({extent(0), extent(1), extent(2)})) {
    std::array<int, 3> last{};
    double particles = 1.0;
    for (std::size_t q = 0; q < 3; ++q) {
      last[q] = std::min(box.first[q] + box.warps[q] * shape.sub[q], extent(q)) - 1;
      particles *= last[q] - box.first[q] + 1;
    }
    if (!ascending(task.equal_particles, box.first, last)) continue;
    for (const HoleBlocks& block : holes) {
      Item item{};
      item.task = task_number;
      for (std::size_t q = 0; q < 3; ++q) {
        item.particle[q] = static_cast<std::uint16_t>(box.first[q]);
        item.warps[q] = static_cast<std::uint8_t>(box.warps[q]);
        item.hole_block[q] = static_cast<std::uint8_t>(block.block[q]);
      }
      items.push_back(item);
      computed += particles * block.elements;
    }
  }
  return computed / all;
}

}  // namespace trifuse::gpu
