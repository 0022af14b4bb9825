#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

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

/// Returns the share of whole sectors, of four doubles, that belongs to a run of so many doubles. A run that is no
/// multiple of a sector begins anywhere in one.
double share_of_sectors(double doubles) {
  return std::fmod(doubles, 4.0) == 0.0 ? 1.0 : doubles / (doubles + 3.0);
}

/// Returns the share of the memory's rate at which runs of so many doubles are read.
double efficiency_of_reading(double doubles) {
  constexpr double half = 5.3;         // a run of so many doubles is read at half the rate
  constexpr double least = 1.0 / 8.0;  // memory is read in pieces of eight doubles
  return std::max(least, share_of_sectors(doubles) * doubles * doubles / (doubles * doubles + half * half));
}

/// The same for storing. The second-level cache collects short runs, so longer ones help little.
double efficiency_of_storing(double doubles) {
  constexpr double lost = 0.3;  // doubles that could be stored in the time that a run needs for itself
  return share_of_sectors(doubles) * doubles / (doubles + lost);
}

/// Returns the time in which a multiprocessor copies an element to shared memory, in runs of so many doubles.
double copy_seconds(bool in_pairs, double run) {
  constexpr double of_pair = 0.15e-9, of_one = 0.33e-9;  // of an element that is copied with its neighbour or alone
  constexpr double of_run = 1.4e-9;                      // every run is an access of its own
  return std::max(in_pairs ? of_pair : of_one, of_run / run);
}

/// A division of a side into tiles.
struct Division {
  TileValues values{};
  double coverage = 1.0;  ///< share of the lines of the tiles that exist
  double lines = 1.0;     ///< lines of a tile that exist
  double run = 1.0;       ///< neighbours in the operand, along lines or k
  double stored = 1.0;    ///< neighbours in C
  bool pairs = false;     ///< neighbours are copied in pairs
  double score = 0.0;     ///< the smaller the better
};

class Divisions {
 public:
  /// `contracted`: see contracted_digits(). `lines`: of a tile.
  Divisions(const Side& side, const std::vector<Index>& contracted, std::int32_t lines) : side_(side), lines_(lines) {
    if (side.k_fastest) {
      const auto fastest = std::find_if(contracted.begin(), contracted.end(),
                                        [&](const Index& digit) { return digit.stride[side.tensor] == 1; });
      along_k_.run = count(fastest->extent);
      along_k_.pairs = fastest == contracted.begin() && fastest->extent % 2 == 0;
    }
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
    std::int32_t tried = 0;
    for (const std::int32_t most : tile_extents) {
      if (most > left || most >= extent) break;
      const bool power = (most & (most - 1)) == 0;
      if (extent % most != 0 && !(power && most >= 4) && most != left) continue;
      const std::int32_t n = least_values(extent, most);
      if (n > tried) try_with(n);
      tried = n;
    }
    if (extent <= left) try_with(static_cast<std::int32_t>(extent));
    values[divided_[at]] = 1;
  }
  /// Returns the least number of values that needs as many tiles as `most`; tiles then begin at whole sectors.
  static std::int32_t least_values(std::int64_t extent, std::int32_t most) {
    constexpr std::int64_t sector = 4;
    if (most % sector != 0) return most;
    const std::int64_t tiles = (extent + most - 1) / most;
    return static_cast<std::int32_t>(((extent + tiles - 1) / tiles + sector - 1) / sector * sector);
  }
  void add(const TileValues& values, std::int32_t left) {
    if (left > 1 && std::any_of(divided_.begin(), divided_.end(), [&](std::size_t n) {
          return side_.indices[n].extent >= values[n] * std::int64_t{left};
        })) {
      return;  // the tile could be larger
    }
    Division division = along_k_;
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
      division.run = run_of(values, side_.tensor);
      for (std::size_t n = 0; n < side_.indices.size() && !division.pairs; ++n) {
        const Index& index = side_.indices[n];
        division.pairs =
            index.stride[side_.tensor] == 1 && values[n] % 2 == 0 && (!side_.c_fastest || index.stride[C] == 1);
      }
      division.score += 0.4 - 0.4 * efficiency_of_reading(division.run);
    }
    if (side_.c_fastest) {
      division.stored = run_of(values, C);
      division.score += 0.6 - 0.6 * efficiency_of_storing(division.stored);
    }
    found_.push_back(division);
  }

  double run_of(const TileValues& values, Tensor tensor) const {
    Run run;
    run.add({&side_}, {&values}, tensor);
    return count(run.length);
  }

  const Side& side_;
  std::int32_t lines_;
  Division along_k_;  ///< what the contracted indices decide
  std::vector<std::size_t> divided_;
  std::vector<Division> found_;
};

/// Returns the share of the rate of DGEMM that a kernel reaches if nothing else limits it.
double efficiency_of(const KernelShape& kernel, bool rows_along_k) {
  if (kernel.kind == KernelKind::plain) return 0.3;
  // A warp of this kernel has too few registers for two rows of operands along k.
  return kernel.rows == 96 && kernel.columns == 96 && rows_along_k ? 0.85 : 1.0;
}

/// Returns the time of work that takes these times alone. The longest one hides most of the others.
double together(double x, double y, double z) {
  return std::cbrt(x * x * x + y * y * y + z * z * z);
}

class Search {
 public:
  /// A plan that is not made yet.
  struct Candidate {
    std::size_t number;  ///< the first one of equal candidates is taken
    std::size_t shape;
    Tensor of_rows;
    const Division *row, *column;
    std::int32_t waves = 0, ctas = 0;
    double seconds = 0.0;
  };

  Search(const Contraction& contraction, const GpuModel& gpu) : gpu_(gpu) {
    batch_ = contraction.of_class(IndexClass::batch);
    std::reverse(batch_.begin(), batch_.end());
    contracted_ = contracted_digits(contraction);
    k_ = product_of(contracted_);
    operations_ = operations(contraction);
    for (const Tensor t : {A, B, C}) bytes_[t] = elements(contraction, t) * static_cast<double>(sizeof(double));
    for (const Tensor t : {A, B}) sides_[t] = side_of(contraction, t);
    // Kernels for small tiles read an operand again for each tile of the other one.
    constexpr double small_side = 8.0, small_sides = 32.0;
    const auto [least, most] = std::minmax({product_of(sides_[A].indices), product_of(sides_[B].indices)});
    const bool small_products = least <= small_side || most <= small_sides;
    for (std::size_t shape = 0; shape < kernel_shapes.size(); ++shape) {
      const KernelShape& kernel = kernel_shapes[shape];
      const bool any_gpu = kernel.kind == KernelKind::plain || kernel.kind == KernelKind::small;
      if (kernel.kind != KernelKind::small && any_gpu == gpu_.matrix_instructions) continue;
      if (for_small_tiles(kernel) && (k_ > kernel.step || !small_products)) continue;
      for (const Tensor of_rows : {A, B}) add(shape, of_rows);
    }
  }

  /// Returns the `most` best candidates.
  std::vector<Candidate> best(std::size_t most) const {
    std::vector<Candidate> kept(std::min(most, found_.size()));
    std::partial_sort_copy(found_.begin(), found_.end(), kept.begin(), kept.end(),
                           [](const Candidate& x, const Candidate& y) {
                             return std::tie(x.seconds, x.number) < std::tie(y.seconds, y.number);
                           });
    return kept;
  }
  GpuPlan plan_of(const Candidate& candidate) const {
    GpuPlan plan = make_plan({.shape = candidate.shape,
                              .rows = sides_[candidate.of_rows],
                              .columns = sides_[other(candidate.of_rows)],
                              .values = {candidate.row->values, candidate.column->values},
                              .batch = batch_,
                              .contracted = contracted_,
                              .waves = candidate.waves,
                              .ctas = candidate.ctas,
                              .seconds = candidate.seconds});
    plan.name = name_of(candidate);
    return plan;
  }
  /// Returns the candidate with a name; null if there is none.
  const Candidate* find(std::string_view name) const {
    bool begins = false;
    const Candidate* last = nullptr;
    for (const Candidate& candidate : found_) {
      // Those with the same beginning follow each other. To save time, few names are made.
      if (last == nullptr || candidate.shape != last->shape || candidate.of_rows != last->of_rows)
        begins = name.starts_with(beginning_of_name(candidate));
      if (begins && name == name_of(candidate)) return &candidate;
      last = &candidate;
    }
    return nullptr;
  }

 private:
  static bool for_small_tiles(const KernelShape& kernel) {
    return kernel.kind == KernelKind::small || kernel.kind == KernelKind::by_warps;
  }
  static Tensor other(Tensor tensor) { return tensor == A ? B : A; }

  /// Candidates of other kernels have another name because of this.
  static std::string beginning_of_name(const Candidate& candidate) {
    const KernelShape& kernel = kernel_shapes[candidate.shape];
    return fmt::format("{}x{}x{} {}", kernel.rows, kernel.columns, kernel.step, "AB"[candidate.of_rows]);
  }
  std::string name_of(const Candidate& candidate) const {
    std::string name = beginning_of_name(candidate);
    const auto add = [&](Tensor tensor, const Division& division) {
      for (std::size_t n = 0; n < sides_[tensor].indices.size(); ++n) {
        name += fmt::format("{}{}", n == 0 ? ' ' : 'x', division.values[n]);
      }
    };
    add(candidate.of_rows, *candidate.row);
    name += ',';
    add(other(candidate.of_rows), *candidate.column);
    return name;
  }

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

  /// Divisions do not depend on the kernel, only on its lines.
  const std::vector<Division>& divisions_of(Tensor tensor, std::int32_t lines) {
    auto& known = divisions_[tensor];
    const auto at = known.find(lines);
    if (at != known.end()) return at->second;
    return known.emplace(lines, Divisions(sides_[tensor], contracted_, lines).found()).first->second;
  }

  void add(std::size_t shape, Tensor of_rows) {
    const KernelShape& kernel = kernel_shapes[shape];
    for (const Division& row : divisions_of(of_rows, kernel.rows)) {
      for (const Division& column : divisions_of(other(of_rows), kernel.columns)) {
        Candidate candidate{found_.size(), shape, of_rows, &row, &column};
        if (predict(candidate)) found_.push_back(candidate);
      }
    }
  }

  /// Returns the number of neighbours in C.
  double stored_run(const Candidate& candidate) const {
    const double run = std::max(candidate.row->stored, candidate.column->stored);
    if (run >= 64.0) return run;
    Run of_both;  // the indices of a side may be continued by those of the other one
    of_both.add({&sides_[candidate.of_rows], &sides_[other(candidate.of_rows)]},
                {&candidate.row->values, &candidate.column->values}, C);
    return count(of_both.length);
  }

  /// Predicts the time of a kernel for small tiles. Returns false if it cannot number its threads.
  bool predict_small(Candidate& candidate, double tiles) const {
    const KernelShape& kernel = kernel_shapes[candidate.shape];
    const Division &row = *candidate.row, &column = *candidate.column;
    constexpr double threads_of_cta = 256.0, threads_of_warp = 32.0;
    const bool by_warps = kernel.kind == KernelKind::by_warps;
    const double threads =
        tiles * (by_warps ? threads_of_warp
                          : std::ceil(row.lines / kernel.row_warps) * std::ceil(column.lines / kernel.column_warps));
    if (threads >= 0x1p31) return false;
    // Lanes read and store two neighbouring columns at once.
    const double pairs = sides_[other(candidate.of_rows)].c_fastest ? 1.0 : by_warps ? 0.95 : 0.6;
    const double memory = (bytes_[A] + bytes_[B] + bytes_[C]) / (pairs * gpu_.memory_rate);
    // A warp loads each element of an operand once from the first-level cache, threads load it several times.
    constexpr double cache_rate_of_one = 45e9, latency = 1.5e-6;
    const double loads =
        8.0 * k_ * (by_warps ? tiles * (row.lines + column.lines) : threads * (kernel.row_warps + kernel.column_warps));
    const double cache = loads / (cache_rate_of_one * gpu_.multiprocessors);
    const double slots = gpu_.multiprocessors * kernel.ctas * threads_of_cta;
    const double waiting = std::ceil(threads / slots) * latency;
    candidate.ctas =
        static_cast<std::int32_t>(std::min(std::ceil(threads / threads_of_cta), 2.0 * slots / threads_of_cta));
    candidate.waves = static_cast<std::int32_t>(std::ceil(tiles / candidate.ctas));
    constexpr double launch = 4e-6;
    candidate.seconds = launch + std::max({memory, cache, waiting}) + 0.1 * (memory + cache + waiting);
    return true;
  }

  /// Sets the time of a candidate, and how its tiles are divided. Returns false if the kernel cannot compute it.
  bool predict(Candidate& candidate) const {
    const KernelShape& kernel = kernel_shapes[candidate.shape];
    const Division &row = *candidate.row, &column = *candidate.column;
    const double steps = std::ceil(k_ / kernel.step);
    const double line_pairs = count(kernel.rows) * count(kernel.columns);
    const double tiles = std::round(operations_ / (2.0 * k_) / (row.coverage * column.coverage * line_pairs));
    if (for_small_tiles(kernel)) return predict_small(candidate, tiles);
    const double slots = count(gpu_.multiprocessors) * kernel.ctas;
    // Times of all multiprocessors, if they were always busy, and of the memory.
    double copy = 0.0, memory = 0.0;
    for (const Tensor tensor : {A, B}) {
      const Division& division = tensor == candidate.of_rows ? row : column;
      const double run = sides_[tensor].k_fastest ? std::min(division.run, count(kernel.step)) : division.run;
      copy += division.lines * copy_seconds(division.pairs, run);
      memory += bytes_[tensor] / efficiency_of_reading(run);
    }
    copy *= tiles * steps * kernel.step / gpu_.multiprocessors;
    memory += bytes_[C] / efficiency_of_storing(stored_run(candidate));
    memory /= gpu_.memory_rate;
    // The warps that multiply also store. Lanes store two columns at once, but one row.
    constexpr double store_pair = 0.11e-9, store_one = 0.185e-9;  // of an element, by a multiprocessor
    const double multiply = tiles * line_pairs * steps * kernel.step * 2.0 /
                            (gpu_.product_rate * efficiency_of(kernel, sides_[candidate.of_rows].k_fastest));
    const double store = tiles * row.lines * column.lines *
                         (sides_[other(candidate.of_rows)].c_fastest ? store_pair : store_one) / gpu_.multiprocessors;
    // `idle`: ratio of all slots to those that are busy. The others use all of the memory's rate.
    const auto busy = [&](double idle) { return together(memory, copy * idle, (multiply + store) * idle); };
    const double whole_waves = std::ceil(tiles / slots);
    constexpr double least_of_tile = 1.25e-6;  // a CTA needs this time for the smallest tile
    const double whole = std::max(busy(whole_waves * slots / tiles), whole_waves * least_of_tile);
    const double partial_bytes = 2.0 * slots * line_pairs * 8.0 * 2.0;
    // If there are few tiles, the same number of CTAs divides each of them. So CTAs of different tiles read the same
    // parts of an operand at the same time.
    const double dividing = tiles < slots ? tiles * std::min(std::floor(slots / tiles), steps) : slots;
    const double in_parts = busy(slots / dividing) + partial_bytes / gpu_.cache_rate + 4e-6;
    constexpr double launch = 4e-6;
    const bool divides = kernel.kind == KernelKind::pipelined && steps > 1.0 && in_parts < whole;
    candidate.ctas = static_cast<std::int32_t>(divides ? dividing : std::min(slots, tiles));
    candidate.waves = static_cast<std::int32_t>(divides ? std::max(0.0, std::floor(tiles / slots) - 1.0) : whole_waves);
    candidate.seconds = launch + (divides ? in_parts : whole);
    return true;
  }

  const GpuModel& gpu_;
  std::array<Side, 2> sides_;
  std::vector<Index> batch_, contracted_;
  std::array<double, 3> bytes_{};
  double k_ = 1.0, operations_ = 0.0;
  std::array<std::map<std::int32_t, std::vector<Division>>, 2> divisions_;  ///< of A and B, by lines of a tile
  std::vector<Candidate> found_;
};

}

GpuPlan plan_for_gpu(const Contraction& contraction, const GpuModel& gpu) {
  return candidates_for_gpu(contraction, gpu, 1).front();
}

std::optional<GpuPlan> plan_of_name(const Contraction& contraction, const GpuModel& gpu, std::string_view name) {
  const Search search(contraction, gpu);
  const Search::Candidate* const candidate = search.find(name);
  return candidate == nullptr ? std::nullopt : std::optional(search.plan_of(*candidate));
}

std::vector<GpuPlan> candidates_for_gpu(const Contraction& contraction, const GpuModel& gpu, std::size_t most) {
  const Search search(contraction, gpu);
  std::vector<GpuPlan> plans;
  for (const Search::Candidate& candidate : search.best(most)) plans.push_back(search.plan_of(candidate));
  return plans;
}

}
