#include "cxx/cpu/subtask_adjoint.hpp"

#include <algorithm>
#include <utility>

#include "cxx/cpu/subtask_products.hpp"
#include "cxx/operands/derivative_sums.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

std::size_t index_of(int position) {
  return static_cast<std::size_t>(position);
}

/// Returns the doubles for the derivatives by the small operands of a subtask.
std::int64_t small_doubles(const Problem& problem, const TileSpace& tiles) {
  const auto [h, p] = largest_tiles(tiles);
  const std::int64_t terms = disconnected_terms(problem.formulation) * problem.sets_end(0);
  return terms * (h * h * p + h) * row_length(p) + 3 * (row_length(p) + row_length(h));
}

/// Returns the rows of the largest panel.
std::int64_t rows_of_panel(const TileSpace& tiles) {
  const auto [h, p] = largest_tiles(tiles);
  return h * p * std::max(h, p);
}

/// Returns the doubles for the derivatives by one panel.
std::int64_t doubles_of_panel(const TileSpace& tiles) {
  return rows_of_panel(tiles) * row_length(largest_contracted_extent(tiles));
}

/// Returns the scratch of the products of seeds and panels, doubles.
std::int64_t scratch_of_products(const TileSpace& tiles) {
  return PanelProduct::scratch_doubles(1, largest_contracted_extent(tiles), rows_of_panel(tiles));
}

/// The columns of a panel.
struct PanelColumns {
  std::int64_t begin, count;
};

/// Returns the columns whose derivatives are wanted: the amplitudes, or all.
PanelColumns wanted_columns(const Problem& problem, const PanelParts& panels, const PanelKey& key,
                            const ContractedExtent& contracted) {
  if (problem.derivatives == Derivatives::all) return {0, contracted.total()};
  const PanelRows rows = panels.rows_of(key);
  const std::int64_t begin = rows.amplitude_part(key.kind) - rows.begin;
  return {begin, key.kind == PanelKind::left ? contracted.particles : contracted.holes};
}

}

SubtaskAdjoint::SubtaskAdjoint(const Problem& problem, const PanelParts& panels)
    : problem_(problem),
      panels_(panels),
      space_(panels.tiles()),
      small_(static_cast<std::size_t>(small_doubles(problem, space_))),
      panel_(static_cast<std::size_t>(doubles_of_panel(space_))),
      panel_product_(scratch_of_products(space_)) {}

std::int64_t SubtaskAdjoint::scratch_doubles(const Problem& problem, const TileSpace& tiles) {
  return small_doubles(problem, tiles) + doubles_of_panel(tiles) + scratch_of_products(tiles);
}

void SubtaskAdjoint::add(const FinishedSubtask& subtask, TaskSums& sums) {
  prepare_seeds(subtask);
  compute_seeds(subtask.input, problem_.quotients.front().omega2, output_);
  add_small_sums(subtask, sums);
  for (const Side side : panels_.store().layout().sides_with_panels(PanelKind::left)) {
    const auto& copies = subtask.contractions.equivalent_targets;
    for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) return_to_source(subtask, *copy, side);
    for (const Product& product : subtask.contractions.products) multiply(subtask, product, side, sums);
  }
}

void SubtaskAdjoint::prepare_seeds(const FinishedSubtask& subtask) {
  double* room = small_.data();
  const auto take = [&](std::int64_t doubles) { return std::exchange(room, room + doubles); };
  const Six& extent = subtask.input.extent;
  output_.left = subtask.left;
  output_.right = subtask.right;
  output_.omega2 = 0.0;
  output_.singles.clear();
  for (const SinglesTerm& term : subtask.input.left[0].singles) {
    const auto [p1, p2] = term.vvoo_particles;
    const auto [h1, h2] = term.vvoo_holes;
    const std::int64_t ov = extent[index_of(3 + term.hole)] * row_length(extent[index_of(term.particle)]),
                       vvoo = extent[index_of(3 + h1)] * extent[index_of(3 + h2)] * extent[index_of(p1)] *
                              row_length(extent[index_of(p2)]);
    double* const ov_sum = take(ov);
    output_.singles.push_back({ov_sum, take(vvoo)});
  }
  for (std::size_t q = 0; q < 6; ++q) {
    const std::int64_t row = row_length(extent[q]);
    output_.eps[q] = {take(row), static_cast<std::size_t>(row)};
  }
  std::fill(small_.data(), room, 0.0);
}

void SubtaskAdjoint::add_small_sums(const FinishedSubtask& subtask, TaskSums& sums) {
  const Six& extent = subtask.input.extent;
  const Task& task = subtask.task;
  const auto offset = [&](std::size_t q) {
    return static_cast<std::size_t>(space_[q < 3 ? task.particles[q] : task.holes[q - 3]].offset);
  };
  for (std::size_t q = 0; q < 6; ++q)
    sums.add(DerivativeSums::energies, offset(q), output_.eps[q].first(static_cast<std::size_t>(extent[q])));
  sums.add(DerivativeSums::omega2, 0, {&output_.omega2, 1});
  const auto orbitals = static_cast<std::size_t>(space_.orbitals());
  for (std::size_t n = 0; n < subtask.singles.size(); ++n) {
    const auto& [term, set] = subtask.singles[n];
    const auto particles = static_cast<std::size_t>(extent[index_of(term->particle)]),
               last = static_cast<std::size_t>(extent[index_of(term->vvoo_particles[1])]);
    for (std::int64_t h = 0; h < extent[index_of(3 + term->hole)]; ++h) {
      const std::size_t hole = offset(index_of(3 + term->hole)) + static_cast<std::size_t>(h);
      const double* const row = output_.singles[n].ov_tensor + h * row_length(extent[index_of(term->particle)]);
      sums.add(DerivativeSums::ov_tensor(set), hole * orbitals + offset(index_of(term->particle)), {row, particles});
    }
    panels_.for_each_vvoo_row(set, term->vvoo_tiles(task), [&](std::int64_t row, std::int64_t position) {
      const double* const from = output_.singles[n].vvoo + row * row_length(extent[index_of(term->vvoo_particles[1])]);
      sums.add(DerivativeSums::operands, static_cast<std::size_t>(position), {from, last});
    });
  }
}

void SubtaskAdjoint::return_to_source(const FinishedSubtask& subtask, const EquivalentTarget& equivalent,
                                      Side side) const {
  // target[x] = source[y] with y[s] = x[slot[s]], see SubtaskWorker::copy_equivalent_target(). The loops follow the
  // memory of the target: c is its fastest index, then b, a, k, j, i.
  static constexpr std::array<std::size_t, 6> storage_order = {2, 1, 0, 5, 4, 3};
  Six n{}, from{}, to{};
  for (std::size_t q = 0; q < 6; ++q) {
    const std::size_t of_target = storage_order[q];
    n[q] = subtask.input.extent[of_target];
    from[q] = subtask.stride[of_target];
    const auto found = std::find(equivalent.slot.begin(), equivalent.slot.end(), of_target);
    to[q] = subtask.stride[static_cast<std::size_t>(found - equivalent.slot.begin())];
  }
  const auto& targets = side == Side::left ? subtask.left : subtask.right;
  scatter(targets[index_of(equivalent.target)], n, from, to, 1.0, false, targets[index_of(equivalent.source)]);
}

void SubtaskAdjoint::multiply(const FinishedSubtask& subtask, const Product& product, Side side, TaskSums& sums) {
  const std::optional<OrderedProduct> found = subtask.products.find(product, side);
  if (!found) return;
  const auto& targets = side == Side::left ? subtask.left : subtask.right;
  bool assign = true;
  for (const Destination& destination : product.destinations) {
    const Six extent = found->in_order(destination, subtask.input.extent),
              stride = found->in_order(destination, subtask.stride), dense = dense_strides(extent);
    // The loops follow the memory of the target.
    std::array<std::size_t, 6> order = {0, 1, 2, 3, 4, 5};
    std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return stride[x] < stride[y]; });
    Six n{}, from{}, to{};
    for (std::size_t q = 0; q < 6; ++q) {
      n[q] = extent[order[q]];
      from[q] = stride[order[q]];
      to[q] = dense[order[q]];
    }
    scatter(targets[index_of(destination.target)], n, from, to, destination.sign, assign, subtask.product);
    assign = false;
  }
  const Six extent = found->in_order(product.destinations.front(), subtask.input.extent);
  multiply_panel(*found, extent, PanelKey::left(product.left, side), subtask.product, sums);
  multiply_panel(*found, extent, PanelKey::right(product.right, side), subtask.product, sums);
}

void SubtaskAdjoint::multiply_panel(const OrderedProduct& found, const Six& extent, const PanelKey& key,
                                    const double* seeds, TaskSums& sums) {
  const bool left = key.kind == PanelKind::left, is_a = left == found.left_is_a;
  const ContractedExtent contracted = panels_.contracted(key);
  const auto [begin, count] = wanted_columns(problem_, panels_, key, contracted);
  if (count == 0) return;
  // Seeds are c[n,m]. The derivative by a[m,x] is sum_n c[n,m] b[n,x], that by b[n,x] is sum_m c[n,m] a[m,x].
  const MatrixView c =
      is_a ? MatrixView{seeds, found.m, found.n, 1, found.m} : MatrixView{seeds, found.n, found.m, found.m, 1};
  ProductRows other = is_a ? found.rows_of_b(extent) : found.rows_of_a(extent);
  other.data += begin;
  panel_product_.multiply(c, other, count, panel_.data());
  operations_ += 2.0 * static_cast<double>(c.rows) * static_cast<double>(count) * static_cast<double>(c.columns);
  const PanelRows in_sums = panels_.rows_of_sums(key);
  const std::int64_t at =
      problem_.derivatives == Derivatives::all ? 0 : in_sums.amplitude_part(key.kind) - in_sums.begin;
  const bool reversed = !left && found.reversed;
  const std::int64_t p = space_[key.tiles[0]].size, pp = space_[key.tiles[1]].size;
  panels_.for_each_row(key, [&](std::int64_t row, std::int64_t position) {
    if (reversed) {  // [h3,p2,p3] stands at [h3,p3,p2]
      const std::int64_t p3 = row % pp, p2 = row / pp % p, h3 = row / pp / p;
      row = p2 + p * (p3 + pp * h3);
    }
    sums.add(DerivativeSums::operands, static_cast<std::size_t>(position + at),
             {panel_.data() + row * row_length(count), static_cast<std::size_t>(count)});
  });
}

}
