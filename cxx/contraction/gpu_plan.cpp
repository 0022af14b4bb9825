#include "cxx/contraction/gpu_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cxx/contraction/gpu_choice.hpp"

namespace trifuse::contraction {

namespace {

/// Most contracted values whose offsets are in a table, unless one index alone has more and cannot be divided.
constexpr std::int64_t most_in_table = 1 << 14;
/// The last step of a table is not full. So a table of few values costs time.
constexpr std::int64_t few_in_table = 256, enough_in_table = 1024;
/// Values of two contracted indices that follow each other if each of them is contiguous in one operand.
constexpr std::int64_t k_block = 4;

std::int32_t narrow(std::int64_t n) {
  return static_cast<std::int32_t>(n);
}

/// Sets `order` to the numbers of `offsets` in the order of their values.
void sort_by_offset(const std::vector<std::int32_t>& offsets, std::vector<std::uint16_t>& order) {
  order.resize(offsets.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = static_cast<std::uint16_t>(n);
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) { return offsets[x] < offsets[y]; });
}

TileGrid grid_of(const Side& side, const TileValues& values) {
  TileGrid grid;
  grid.axes = narrow(std::ssize(side.indices));
  for (std::size_t n = 0; n < side.indices.size(); ++n) {
    const Index& index = side.indices[n];
    const std::int32_t count = values[n];
    grid.axis[n] = {Divisor(narrow((index.extent + count - 1) / count)), count, narrow(index.extent - count),
                    narrow(index.stride[side.tensor]), narrow(index.stride[C])};
    grid.tiles *= grid.axis[n].tiles.number();
  }
  return grid;
}

/// Returns the lines of a tile. The fastest axis has the least stride in C, or in the operand if `by_operand`.
std::vector<Line> lines_of(const TileGrid& grid, bool by_operand, std::int32_t lines) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(grid.axes));
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = static_cast<std::int32_t>(n);
  const auto axis = [&](std::int32_t n) -> const TileGrid::Axis& { return grid.axis[static_cast<std::size_t>(n)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
    return by_operand ? std::abs(axis(x).operand) < std::abs(axis(y).operand)
                      : std::abs(axis(x).c) < std::abs(axis(y).c);
  });
  std::int32_t count = 1;
  for (const std::int32_t n : order) count *= axis(n).values;
  std::vector<Line> all;
  for (std::int32_t line = 0; line < lines; ++line) {
    Line found{0, 0, line < count ? 0u : 1u << no_line};
    std::int32_t rest = line % count;
    for (const std::int32_t n : order) {
      const TileGrid::Axis& of = axis(n);
      const std::int32_t value = rest % of.values;
      rest /= of.values;
      found.operand += value * of.operand;
      found.c += value * of.c;
      // The last tile begins at `last` instead of (tiles - 1) * values, and the tile before ends there.
      if (value < (of.tiles.number() - 1) * of.values - of.last) found.hidden |= 1u << n;
    }
    all.push_back(found);
  }
  return all;
}

bool even(std::int64_t n) {
  return n % 2 == 0;
}

/// Returns the largest even divisor of `n` from `least` to `most`; 0 if there is none.
std::int64_t even_divisor(std::int64_t n, std::int64_t least, std::int64_t most) {
  for (std::int64_t divisor = most / 2 * 2; divisor >= std::max<std::int64_t>(2, least); divisor -= 2) {
    if (n % divisor == 0) return divisor;
  }
  return 0;
}

/// True if all tiles begin at even offsets.
bool even_origins(const TileGrid& grid, std::int32_t TileGrid::Axis::*stride) {
  for (std::int32_t n = 0; n < grid.axes; ++n) {
    const TileGrid::Axis& axis = grid.axis[static_cast<std::size_t>(n)];
    if (!even(std::int64_t{axis.values} * (axis.*stride)) && axis.tiles.number() > 1) return false;
    if (!even(std::int64_t{axis.last} * (axis.*stride))) return false;
  }
  return true;
}

bool even_offsets(const OuterSpace& space, std::size_t tensor) {
  for (std::int32_t n = 0; n < space.axes; ++n) {
    if (!even(space.axis[static_cast<std::size_t>(n)].stride[tensor])) return false;
  }
  return true;
}

OuterSpace outer_space(const std::vector<Index>& indices, Tensor rows, Tensor columns) {
  OuterSpace space;
  space.axes = narrow(std::ssize(indices));
  for (std::size_t n = 0; n < indices.size(); ++n) {
    const auto& stride = indices[n].stride;
    space.axis[n] = {Divisor(narrow(indices[n].extent)),
                     {narrow(stride[rows]), narrow(stride[columns]), narrow(stride[C])}};
    space.size *= narrow(indices[n].extent);
  }
  return space;
}

/// True if pairs of contracted values or of lines are neighbours at even offsets.
bool loads_pairs(const GpuOperand& operand, std::int32_t k, const OuterSpace& batch, const OuterSpace& outer_k,
                 std::size_t tensor) {
  const bool along_k = operand.arrangement == Arrangement::k_fastest;
  bool pairs = even_origins(operand.grid, &TileGrid::Axis::operand) && even_offsets(batch, tensor) &&
               even_offsets(outer_k, tensor);
  for (std::size_t n = 0; n < static_cast<std::size_t>(k) && pairs; ++n) {
    pairs = n % 2 == 1 && along_k ? operand.k[n] == operand.k[n - 1] + 1 : even(operand.k[n]);
  }
  for (std::size_t n = 0; n < operand.lines.size() && pairs; ++n) {
    const std::int32_t offset = operand.lines[n].operand;
    pairs = n % 2 == 1 && !along_k ? offset == operand.lines[n - 1].operand + 1 : even(offset);
  }
  return pairs;
}

bool stores_pairs(const GpuPlan& plan) {
  bool pairs = even_origins(plan.rows.grid, &TileGrid::Axis::c) &&
               even_origins(plan.columns.grid, &TileGrid::Axis::c) && even_offsets(plan.batch, 2);
  for (const Line& row : plan.rows.lines) pairs = pairs && even(row.c);
  const std::vector<Line>& columns = plan.columns.lines;
  for (std::size_t n = 0; n + 1 < columns.size() && pairs; n += 2) {
    pairs = columns[n].hidden == columns[n + 1].hidden &&
            (columns[n].hidden >> no_line != 0 || (even(columns[n].c) && columns[n + 1].c == columns[n].c + 1));
  }
  return pairs;
}

}

std::vector<Index> contracted_digits(const Contraction& contraction) {
  std::vector<Index> digits = contraction.of_class(IndexClass::contracted);
  const auto least = [](const Index& index) { return std::min(std::abs(index.stride[A]), std::abs(index.stride[B])); };
  std::stable_sort(digits.begin(), digits.end(), [&](const Index& x, const Index& y) { return least(x) < least(y); });
  const auto fastest_of = [&](Tensor tensor) {
    return std::find_if(digits.begin(), digits.end(), [&](const Index& index) { return index.stride[tensor] == 1; });
  };
  const auto of_a = fastest_of(A), of_b = fastest_of(B);
  if (of_a == digits.end() || of_b == digits.end() || of_a == of_b) return digits;
  if (of_a->extent % k_block != 0 || of_b->extent % k_block != 0) return digits;
  // Both operands are read in runs of four.
  std::vector<Index> blocked = {*of_a, *of_b, *of_a, *of_b};
  for (std::size_t n = 0; n < 4; ++n) {
    Index& digit = blocked[n];
    if (n < 2) {
      digit.extent = k_block;
    } else {
      digit.extent /= k_block;
      for (std::int64_t& stride : digit.stride) stride *= k_block;
    }
  }
  for (auto index = digits.begin(); index != digits.end(); ++index) {
    if (index != of_a && index != of_b) blocked.push_back(*index);
  }
  return blocked;
}

GpuPlan make_plan(const GpuChoice& choice) {
  GpuPlan plan;
  plan.shape = choice.shape;
  const KernelShape& kernel = plan.kernel();
  const std::array<const Side*, 2> sides = {&choice.rows, &choice.columns};
  plan.batch = outer_space(choice.batch, sides[0]->tensor, sides[1]->tensor);
  std::vector<Index> inner, outer;
  std::int64_t k = 1;
  for (Index digit : choice.contracted) {
    const std::int64_t room = outer.empty() ? most_in_table / k : 0;
    if (room > 0 && digit.extent > room && k < few_in_table) {
      if (const std::int64_t part = even_divisor(digit.extent, enough_in_table / k, room); part > 0) {
        inner.push_back(digit);
        inner.back().extent = part;
        k *= part;
        digit.extent /= part;
        for (std::int64_t& stride : digit.stride) stride *= part;
        outer.push_back(digit);
        continue;
      }
    }
    const bool fits = outer.empty() && (k == 1 || digit.extent <= room);
    if (fits) k *= digit.extent;
    (fits ? inner : outer).push_back(digit);
  }
  plan.k = narrow(k);
  plan.outer_k = outer_space(outer, sides[0]->tensor, sides[1]->tensor);
  const std::size_t table = static_cast<std::size_t>(plan.inner_steps()) * static_cast<std::size_t>(kernel.step);
  for (std::size_t n = 0; n < 2; ++n) {
    const Side& side = *sides[n];
    GpuOperand& operand = n == 0 ? plan.rows : plan.columns;
    const bool k_fastest = side.k_fastest;
    operand.tensor = side.tensor;
    operand.arrangement = k_fastest ? Arrangement::k_fastest : Arrangement::line_fastest;
    operand.grid = grid_of(side, choice.values[n]);
    operand.lines = lines_of(operand.grid, !k_fastest && !side.c_fastest, n == 0 ? kernel.rows : kernel.columns);
    std::vector<std::int32_t> offsets;
    for (const Line& line : operand.lines) offsets.push_back(line.operand);
    operand.line_count = narrow(std::count_if(operand.lines.begin(), operand.lines.end(),
                                              [](const Line& line) { return line.hidden >> no_line == 0; }));
    offsets.resize(static_cast<std::size_t>(operand.line_count));
    sort_by_offset(offsets, operand.line_order);
    operand.line_order.resize(operand.lines.size());
    operand.k.assign(table, 0);
    std::vector<std::int32_t> value(inner.size(), 0);
    std::int64_t offset = 0;
    for (std::int32_t at = 0; at < plan.k; ++at) {
      operand.k[static_cast<std::size_t>(at)] = narrow(offset);
      for (std::size_t d = 0; d < inner.size(); ++d) {
        offset += inner[d].stride[side.tensor];
        if (++value[d] < inner[d].extent) break;
        value[d] = 0;
        offset -= inner[d].extent * inner[d].stride[side.tensor];
      }
    }
    offsets.assign(operand.k.begin(), operand.k.begin() + std::min<std::ptrdiff_t>(kernel.step, std::ssize(operand.k)));
    sort_by_offset(offsets, operand.k_order);
    operand.pairs = loads_pairs(operand, plan.k, plan.batch, plan.outer_k, n);
    operand.whole_pairs = even(operand.arrangement == Arrangement::k_fastest ? plan.k : operand.line_count);
  }
  plan.c_pairs = stores_pairs(plan);
  constexpr std::int32_t group = 8;
  plan.order = {plan.rows.grid.tiles, plan.columns.grid.tiles, plan.batch.size, group};
  plan.waves = choice.waves;
  plan.ctas = choice.ctas;
  plan.seconds = choice.seconds;
  return plan;
}

std::int64_t GpuPlan::shared_bytes() const {
  const KernelShape& of_kernel = kernel();
  if (of_kernel.kind != KernelKind::pipelined) return 0;
  const std::int64_t slot = tile_doubles(rows.arrangement, of_kernel.rows, of_kernel.step) +
                            tile_doubles(columns.arrangement, of_kernel.columns, of_kernel.step);
  return of_kernel.slots * slot * static_cast<std::int64_t>(sizeof(double));
}

std::string text_of(const GpuPlan& plan) {
  const auto side = [](const GpuOperand& operand) {
    std::string text;
    for (std::int32_t n = 0; n < operand.grid.axes; ++n) {
      text += fmt::format("{}{}", n == 0 ? "" : "x", operand.grid.axis[static_cast<std::size_t>(n)].values);
    }
    return fmt::format("{} [{}] {} {}", "ABC"[operand.tensor], text,
                       operand.arrangement == Arrangement::k_fastest ? "along k" : "along lines",
                       operand.pairs ? "in pairs" : "one by one");
  };
  const KernelShape& kernel = plan.kernel();
  constexpr std::array kinds = {"plain", "small", "by warps", "pipelined"};
  return fmt::format("{} {}x{}x{}, rows {}, columns {}, C {}, {} tiles of {} steps, {} CTAs{}, {:.1f} us",
                     kinds[static_cast<std::size_t>(kernel.kind)], kernel.rows, kernel.columns, kernel.step,
                     side(plan.rows), side(plan.columns), plan.c_pairs ? "in pairs" : "one by one", plan.order.size(),
                     plan.steps(), plan.ctas,
                     plan.divides_tiles() ? fmt::format(", {} waves, then parts", plan.waves) : "", plan.seconds * 1e6);
}

}
