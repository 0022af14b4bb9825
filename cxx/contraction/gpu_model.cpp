#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "cxx/contraction/gpu_choice.hpp"

namespace trifuse::contraction {

namespace {

constexpr std::array<std::int32_t, 19> tile_extents = {1,  2,  3,  4,  6,  8,  9,  12,  16, 18,
                                                       24, 32, 36, 48, 64, 72, 96, 104, 128};
/// Indices of a side that a tile may divide; the others have one value in a tile.
constexpr std::size_t most_divided = 4;
/// Divisions of a side that are combined with those of the other side.
constexpr std::size_t kept_divisions = 10;

double count(std::int64_t n) {
  return static_cast<double>(n);
}

double product_of(const std::vector<Index>& indices) {
  double product = 1.0;
  for (const Index& index : indices) product *= count(index.extent);
  return product;
}

/// Returns the number of neighbours in memory in a tile, for the indices of one or two sides.
struct Run {
  std::int64_t length = 1;
  std::int64_t next = 1;  ///< stride that continues the run; 0 if nothing can

  void add(const std::vector<const Side*>& sides, const std::vector<const TileValues*>& values, Tensor tensor) {
    for (bool grown = true; grown && next > 0;) {
      grown = false;
      for (std::size_t s = 0; s < sides.size() && !grown; ++s) {
        for (std::size_t n = 0; n < sides[s]->indices.size(); ++n) {
          const Index& index = sides[s]->indices[n];
          if (index.stride[tensor] != next) continue;
          const std::int32_t in_tile = (*values[s])[n];
          length *= in_tile;
          next = in_tile == index.extent ? next * index.extent : 0;
          grown = true;
          break;
        }
      }
    }
  }
};

/// Returns the share of the memory's rate that accesses to runs of so many doubles reach.
double efficiency_of_run(double doubles) {
  if (doubles < 4.0) return 0.8 * doubles / 4.0;
  if (doubles < 8.0) return 0.80;
  if (doubles < 16.0) return 0.90;
  if (doubles < 32.0) return 0.96;
  return doubles < 64.0 ? 0.98 : 1.0;
}

/// A division of a side into tiles.
struct Division {
  TileValues values{};
  double coverage = 1.0;  ///< share of the lines of the tiles that exist
  double lines = 1.0;     ///< lines of a tile that exist
  double run = 1.0;       ///< neighbours in the operand; 0 if they are along k
  double score = 0.0;     ///< the smaller the better
};

class Divisions {
 public:
  Divisions(const Side& side, std::int32_t lines) : side_(side), lines_(lines) {
    // The indices with the least strides are worth dividing.
    std::vector<std::size_t> order(side.indices.size());
    for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
    const auto least = [&](std::size_t n) {
      return std::min(std::abs(side.indices[n].stride[side.tensor]), std::abs(side.indices[n].stride[C]));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return least(x) < least(y); });
    if (order.size() > most_divided) order.resize(most_divided);
    divided_ = order;
    TileValues values;
    values.fill(1);
    choose(0, lines, values);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Division& x, const Division& y) { return x.score < y.score; });
    if (found_.size() > kept_divisions) found_.resize(kept_divisions);
  }
  const std::vector<Division>& found() const { return found_; }

 private:
  void choose(std::size_t at, std::int32_t left, TileValues& values) {
    if (at == divided_.size()) {
      add(values, left);
      return;
    }
    const std::int64_t extent = side_.indices[divided_[at]].extent;
    const auto try_with = [&](std::int32_t n) {
      values[divided_[at]] = n;
      choose(at + 1, left / n, values);
    };
    for (const std::int32_t n : tile_extents) {
      if (n > left || n >= extent) break;
      const bool power = (n & (n - 1)) == 0;
      if (extent % n == 0 || (power && n >= 4) || n == left) try_with(n);
    }
    if (extent <= left) try_with(static_cast<std::int32_t>(extent));
    values[divided_[at]] = 1;
  }
  void add(const TileValues& values, std::int32_t left) {
    if (left > 1 && std::any_of(divided_.begin(), divided_.end(), [&](std::size_t n) {
          return side_.indices[n].extent >= values[n] * std::int64_t{left};
        })) {
      return;  // the tile could be larger
    }
    Division division;
    division.values = values;
    double made = lines_, real = 1.0;
    for (std::size_t n = 0; n < side_.indices.size(); ++n) {
      const std::int64_t extent = side_.indices[n].extent;
      real *= count(extent);
      made *= count((extent + values[n] - 1) / values[n]);
      division.lines *= count(values[n]);
    }
    division.coverage = real / made;
    division.score = -std::log(division.coverage);
    if (!side_.k_fastest) {
      Run run;
      run.add({&side_}, {&values}, side_.tensor);
      division.run = count(run.length);
      division.score += 0.4 - 0.4 * efficiency_of_run(division.run);
    }
    if (side_.c_fastest) {
      Run run;
      run.add({&side_}, {&values}, C);
      division.score += 0.6 - 0.6 * efficiency_of_run(count(run.length)) - 0.02 * std::log(count(run.length));
    }
    found_.push_back(division);
  }

  const Side& side_;
  std::int32_t lines_;
  std::vector<std::size_t> divided_;
  std::vector<Division> found_;
};

/// Returns the share of the rate of DGEMM that a kernel reaches if nothing else limits it.
double efficiency_of(const KernelShape& kernel, bool rows_along_k) {
  if (kernel.kind == KernelKind::plain) return 0.3;
  if (kernel.rows == 32) return kernel.columns == 32 ? 0.4 : 0.65;
  const std::int32_t size = kernel.rows * kernel.columns;
  // A warp of this kernel has too few registers for two rows of operands along k.
  if (size == 96 * 96 && rows_along_k) return 0.5;
  return size >= 64 * 104 ? 0.94 : size >= 64 * 96 ? 0.85 : 0.75;
}

class Search {
 public:
  Search(const Contraction& contraction, const GpuModel& gpu) : gpu_(gpu) {
    base_.batch = contraction.of_class(IndexClass::batch);
    std::reverse(base_.batch.begin(), base_.batch.end());
    base_.contracted = contracted_digits(contraction);
    k_ = product_of(base_.contracted);
    operations_ = operations(contraction);
    for (const Tensor t : {A, B, C}) bytes_[t] = elements(contraction, t) * static_cast<double>(sizeof(double));
    for (const Tensor t : {A, B}) sides_[t] = side_of(contraction, t);
    // Kernels for small tiles read an operand again for each tile of the other one.
    constexpr double small_side = 8.0, small_sides = 32.0;
    const auto [least, most] = std::minmax({product_of(sides_[A].indices), product_of(sides_[B].indices)});
    small_products_ = least <= small_side || most <= small_sides;
  }

  std::vector<GpuChoice> all() {
    for (std::size_t shape = 0; shape < kernel_shapes.size(); ++shape) {
      const KernelShape& kernel = kernel_shapes[shape];
      const bool any_gpu = kernel.kind == KernelKind::plain || kernel.kind == KernelKind::small;
      if (kernel.kind != KernelKind::small && any_gpu == gpu_.matrix_instructions) continue;
      if (is_small(kernel) && (k_ > kernel.step || !small_products_)) continue;
      for (const Tensor of_rows : {A, B}) add(shape, of_rows);
    }
    return std::move(found_);
  }

 private:
  static Side side_of(const Contraction& contraction, Tensor tensor) {
    Side side{tensor, contraction.of_class(tensor == A ? IndexClass::external_a : IndexClass::external_b), false,
              false};
    std::reverse(side.indices.begin(), side.indices.end());
    for (const Index& index : contraction.indices) {
      side.k_fastest = side.k_fastest || (index.index_class == IndexClass::contracted && index.stride[tensor] == 1);
    }
    for (const Index& index : side.indices) side.c_fastest = side.c_fastest || index.stride[C] == 1;
    return side;
  }

  void add(std::size_t shape, Tensor of_rows) {
    const KernelShape& kernel = kernel_shapes[shape];
    GpuChoice choice = base_;
    choice.shape = shape;
    choice.rows = sides_[of_rows];
    choice.columns = sides_[of_rows == A ? B : A];
    step_ = kernel.step;
    steps_ = std::ceil(k_ / step_);
    const Divisions rows(choice.rows, kernel.rows), columns(choice.columns, kernel.columns);
    for (const Division& row : rows.found()) {
      for (const Division& column : columns.found()) {
        choice.values = {row.values, column.values};
        choice.grid_by_operand = {false, false};
        predict(choice, kernel, row, column);
      }
    }
  }

  /// Returns the time in which a multiprocessor copies an element to shared memory.
  double copy_seconds(const Side& side, const TileValues& values) const {
    constexpr double of_pair = 0.1e-9, along_lines = 0.4e-9, along_k = 0.5e-9;
    if (side.k_fastest) {
      const Index& first = base_.contracted.front();
      return first.stride[side.tensor] == 1 && first.extent % 2 == 0 ? of_pair : along_k;
    }
    for (std::size_t n = 0; n < side.indices.size(); ++n) {
      const Index& index = side.indices[n];
      if (index.stride[side.tensor] != 1 || values[n] % 2 != 0) continue;
      if (!side.c_fastest || index.stride[C] == 1) return of_pair;
    }
    return along_lines;
  }

  static bool is_small(const KernelShape& kernel) {
    return kernel.kind == KernelKind::small || kernel.kind == KernelKind::by_warps;
  }

  void predict_small(GpuChoice& choice, const KernelShape& kernel, const Division& row, const Division& column,
                     double tiles) {
    constexpr double threads_of_cta = 256.0;
    const bool by_warps = kernel.kind == KernelKind::by_warps;
    const double threads =
        tiles *
        (by_warps ? 32.0 : std::ceil(row.lines / kernel.row_warps) * std::ceil(column.lines / kernel.column_warps));
    if (threads >= 0x1p31) return;
    // Lanes read and store two neighbouring columns at once.
    const double pairs = choice.columns.c_fastest ? 1.0 : by_warps ? 0.95 : 0.6;
    const double memory = (bytes_[A] + bytes_[B] + bytes_[C]) / (pairs * gpu_.memory_rate);
    // Each element of an operand is loaded once by a warp, or several times by threads, of the first-level cache.
    constexpr double cache_rate_of_one = 45e9, latency = 1.5e-6;
    const double loads = by_warps ? 8.0 * tiles * k_ * (row.lines + column.lines)
                                  : 8.0 * threads * k_ * (kernel.row_warps + kernel.column_warps);
    const double slots = gpu_.multiprocessors * kernel.ctas * threads_of_cta;
    const double waiting = std::ceil(threads / slots) * latency;
    const double cache = loads / (cache_rate_of_one * gpu_.multiprocessors);
    choice.ctas =
        static_cast<std::int32_t>(std::min(std::ceil(threads / threads_of_cta), 2.0 * slots / threads_of_cta));
    choice.waves = static_cast<std::int32_t>(std::ceil(tiles / choice.ctas));
    constexpr double launch = 4e-6;
    choice.seconds = launch + std::max({memory, cache, waiting}) + 0.1 * (memory + cache + waiting);
    found_.push_back(choice);
  }

  void predict(GpuChoice& choice, const KernelShape& kernel, const Division& row, const Division& column) {
    const double line_pairs = count(kernel.rows) * count(kernel.columns);
    const double tiles = std::round(operations_ / (2.0 * k_) / (row.coverage * column.coverage * line_pairs));
    if (is_small(kernel)) return predict_small(choice, kernel, row, column, tiles);
    const double slots = count(gpu_.multiprocessors) * kernel.ctas;
    const double whole_waves = std::ceil(tiles / slots);
    Run of_c;
    of_c.add({&choice.rows, &choice.columns}, {&row.values, &column.values}, C);
    // Time of all multiprocessors, if they were always busy.
    const double multiply =
        tiles * line_pairs * steps_ * step_ * 2.0 / (gpu_.product_rate * efficiency_of(kernel, choice.rows.k_fastest));
    const double rows_bytes = row.lines * steps_ * step_ * 8.0;
    const double columns_bytes = column.lines * steps_ * step_ * 8.0;
    const double of_rows = efficiency_of_run(choice.rows.k_fastest ? step_ : row.run);
    const double of_columns = efficiency_of_run(choice.columns.k_fastest ? step_ : column.run);
    const double cache = tiles * (rows_bytes / of_rows + columns_bytes / of_columns) / gpu_.cache_rate;
    const double copy = tiles * steps_ * step_ *
                        (row.lines * copy_seconds(choice.rows, row.values) +
                         column.lines * copy_seconds(choice.columns, column.values)) /
                        gpu_.multiprocessors;
    // Lanes store two columns at once, but one row.
    const double pairs = choice.columns.c_fastest ? 1.0 : 0.92;
    const double memory = (bytes_[choice.rows.tensor] / of_rows + bytes_[choice.columns.tensor] / of_columns +
                           bytes_[C] / (pairs * efficiency_of_run(count(of_c.length)))) /
                          gpu_.memory_rate;
    const double busy = std::max({multiply, cache, memory, copy}) + 0.1 * (multiply + cache + memory + copy);
    const double whole = busy * whole_waves * slots / tiles;
    const double partial_bytes = 2.0 * slots * line_pairs * 8.0 * 2.0;
    // If there are few tiles, the same number of CTAs divides each of them. So CTAs of different tiles read the same
    // parts of an operand at the same time.
    const double dividing = tiles < slots ? tiles * std::min(std::floor(slots / tiles), steps_) : slots;
    const double in_parts = busy * slots / dividing + partial_bytes / gpu_.cache_rate + 4e-6;
    constexpr double launch = 4e-6;
    const bool divides = kernel.kind == KernelKind::pipelined && steps_ > 1.0 && in_parts < whole;
    choice.ctas = static_cast<std::int32_t>(divides ? dividing : std::min(slots, tiles));
    choice.waves = static_cast<std::int32_t>(divides ? std::max(0.0, std::floor(tiles / slots) - 1.0) : whole_waves);
    choice.seconds = launch + (divides ? in_parts : whole);
    found_.push_back(choice);
  }

  const GpuModel& gpu_;
  GpuChoice base_{};
  std::array<Side, 2> sides_;
  std::array<double, 3> bytes_{};
  bool small_products_ = false;
  double k_ = 1.0, operations_ = 0.0, step_ = 1.0, steps_ = 1.0;
  std::vector<GpuChoice> found_;
};

std::vector<GpuChoice> best_choices(const Contraction& contraction, const GpuModel& gpu, std::size_t most) {
  std::vector<GpuChoice> all = Search(contraction, gpu).all();
  const std::size_t kept = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const GpuChoice& x, const GpuChoice& y) { return x.seconds < y.seconds; });
  all.resize(kept);
  return all;
}

}

GpuPlan plan_for_gpu(const Contraction& contraction, const GpuModel& gpu) {
  return make_plan(best_choices(contraction, gpu, 1).front());
}

std::vector<GpuPlan> candidates_for_gpu(const Contraction& contraction, const GpuModel& gpu, std::size_t most) {
  std::vector<GpuPlan> plans;
  for (const GpuChoice& choice : best_choices(contraction, gpu, most)) plans.push_back(make_plan(choice));
  return plans;
}

}
