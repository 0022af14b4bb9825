#include "cxx/cpu/subtask_worker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cxx/cpu/quotient_kernel.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse {

namespace {

/// Returns the size of one target, doubles.
std::size_t target_doubles(const TileSpace& space) {
  const auto [h, p] = largest_tiles(space);
  return static_cast<std::size_t>(h * h * h * p * p * row_length(p));
}

/// Writes or adds to a target. If c is not the fastest index of the source, elements behind the ends of rows stay.
void put_into_target(const double* source, const Six& extent, const Six& from, const Six& to, double sign, bool assign,
                     double* target) {
  (to[0] == 1 ? scatter_padded_rows : scatter)(source, extent, from, to, sign, assign, target);
}

/// Returns the scratch of the products of panels, doubles.
std::int64_t doubles_of_products(const TileSpace& space) {
  const auto [h, p] = largest_tiles(space);
  return PanelProduct::scratch_doubles(h * std::max(h, p), p, largest_contracted_extent(space));
}

/// Returns the size of one vvoo block and of the margin that may be read behind it, doubles.
std::size_t vvoo_block_doubles(const TileSpace& space) {
  const auto [h, p] = largest_tiles(space);
  return static_cast<std::size_t>(h * h * p * p + vector_margin);
}

/// Returns the number of vvoo blocks that a subtask uses at once.
std::size_t vvoo_blocks(const Problem& problem) {
  return static_cast<std::size_t>(disconnected_terms(problem.formulation) * problem.disconnected_sets());
}

}

SubtaskWorker::SubtaskWorker(const Problem& problem, const PanelParts& panels, Precision precision)
    : problem_(problem),
      omega2_(problem.omega2()),
      panels_(panels),
      precision_(precision),
      space_(panels.tiles()),
      target_size_(target_doubles(space_)),
      targets_(target_size_ * static_cast<std::size_t>(problem.targets())),
      product_(target_size_),
      products_(problem, panels),
      vvoo_scratch_(panels.copies_panels() ? vvoo_blocks(problem) * vvoo_block_doubles(space_) : 0),
      panel_product_(doubles_of_products(space_)) {
  if (problem.derivatives != Derivatives::none) adjoint_.emplace(problem, panels);
}

std::int64_t SubtaskWorker::scratch_doubles(const Problem& problem, const TileSpace& tiles) {
  const auto targets = static_cast<std::int64_t>(target_doubles(tiles)) * (problem.targets() + 1);
  const bool adjoint = problem.derivatives != Derivatives::none;
  return targets + SubtaskProducts::scratch_doubles(problem, tiles) + doubles_of_products(tiles) +
         (adjoint ? SubtaskAdjoint::scratch_doubles(problem, tiles) : 0);
}

void SubtaskWorker::execute(std::span<const Task> subtasks, std::size_t first, std::size_t step,
                            std::span<TaskEnergy> energies, TaskSums* sums) {
  const std::size_t count = problem_.quotients.size();
  if (first < subtasks.size()) prepare_next(subtasks[first]);
  for (std::size_t n = first; n < subtasks.size(); n += step) {
    std::swap(contractions_, next_contractions_);
    if (n + step < subtasks.size()) prepare_next(subtasks[n + step]);
    execute_subtask(subtasks[n], energies.subspan(n * count, count), sums);
  }
}

void SubtaskWorker::prepare_next(const Task& subtask) {
  list_contractions(space_, problem_.formulation, subtask, next_contractions_);
  panels_.prefetch(subtask, next_contractions_);
}

void SubtaskWorker::execute_subtask(const Task& task, std::span<TaskEnergy> energies, TaskSums* sums) {
  for (std::size_t q = 0; q < 3; ++q) {
    extent_[q] = space_[task.particles[q]].size;
    extent_[3 + q] = space_[task.holes[q]].size;
  }
  // Targets are [i,j,k,a,b,c]. Rows of c have padded length.
  const auto [a, b, c, i, j, k] = extent_;
  const std::int64_t row = row_length(c);
  stride_ = target_strides(extent_, row);
  rows_ = a * b * i * j * k;
  for (int side = 0; side < problem_.sides(); ++side) build_targets(static_cast<Side>(side));

  locate_targets();
  input_.extent = extent_;
  input_.denominators = problem_.denominators;
  const std::int64_t first_particle = space_[space_.hole_tiles()].offset;
  const double* eps = panels_.store().orbital_energies().data();
  for (std::size_t q = 0; q < 3; ++q) {
    const std::int64_t particle = space_[task.particles[q]].offset, hole = space_[task.holes[q]].offset;
    input_.eps[q] = eps + particle;
    input_.eps[3 + q] = eps + hole;
    input_.first[q] = particle - first_particle;
    input_.first[3 + q] = hole;
  }
  input_.equal_particles = {task.particles[0] == task.particles[1], task.particles[1] == task.particles[2]};
  input_.equal_holes = {task.holes[0] == task.holes[1], task.holes[1] == task.holes[2]};
  input_.weight = task.weight;
  input_.same_spin = task.spin_case == SpinCase::aaa || task.spin_case == SpinCase::bbb;
  resolve_singles(task);
  if (problem_.has_shifts_only()) {
    sum_energies(input_, omega2_, energies);
  } else {
    sum_quotients(input_, problem_.quotients, energies);
  }
  if (adjoint_ && sums != nullptr) {
    FinishedSubtask finished{task, contractions_, input_, singles_, {}, {}, stride_, product_.data(), products_};
    for (int t = 0; t < contractions_.targets; ++t) {
      finished.right[static_cast<std::size_t>(t)] = target(t, Side::right);
      finished.left[static_cast<std::size_t>(t)] = target(t, problem_.two_sided() ? Side::left : Side::right);
    }
    adjoint_->add(finished, *sums);
  }
  vvoo_blocks_.clear();
}

double* SubtaskWorker::target(int t, Side side) {
  const auto of_sides_before = static_cast<std::size_t>(side) * static_cast<std::size_t>(contractions_.targets);
  return targets_.data() + (of_sides_before + static_cast<std::size_t>(t)) * target_size_;
}

void SubtaskWorker::build_targets(Side side) {
  written_.fill(false);
  // Products that go to a target once come first, because they may overwrite it. In mixed precision each sum is
  // rounded, so the order is that of the GPU kernels.
  const auto shares_target = [&](const Product& product) {
    const auto& all = product.destinations;
    if (precision_ == Precision::mixed) return false;
    return std::any_of(all.begin(), all.end(), [&](const Destination& one) {
      return std::count_if(all.begin(), all.end(), [&](const Destination& x) { return x.target == one.target; }) > 1;
    });
  };
  for (const bool sharing : {false, true}) {
    for (const Product& product : contractions_.products) {
      if (shares_target(product) == sharing) multiply(product, side);
    }
  }
  for (const EquivalentTarget& equivalent : contractions_.equivalent_targets)
    written_[static_cast<std::size_t>(equivalent.target)] = true;
  for (int t = 0; t < contractions_.targets; ++t) {
    // If spin or symmetry forbid all products of a target, D is zero, but S may not be zero.
    if (!written_[static_cast<std::size_t>(t)]) std::fill_n(target(t, side), rows_ * stride_[1], 0.0);
  }
  for (const EquivalentTarget& equivalent : contractions_.equivalent_targets) {
    if (!reads_source(equivalent)) copy_equivalent_target(equivalent, side);
  }
}

bool SubtaskWorker::reads_source(const EquivalentTarget& equivalent) const {
  constexpr std::uint8_t slot_of_c = 2;
  return !adjoint_ && equivalent.slot[2] == slot_of_c;  // rows of c stay rows of c
}

void SubtaskWorker::locate_targets() {
  input_.targets = contractions_.targets;
  input_.left_sides = problem_.left_sides();
  const auto locate = [&](int t, int source, const Six& step) {
    const auto at = static_cast<std::size_t>(t);
    input_.step[at] = step;
    input_.d_right[at] = target(source, Side::right);
    for (int n = 0; n < input_.left_sides; ++n) {
      const Side side = problem_.two_sided() ? left_side(n) : Side::right;
      input_.left[static_cast<std::size_t>(n)].d[at] = target(source, side);
    }
  };
  for (int t = 0; t < contractions_.targets; ++t) locate(t, t, stride_);
  for (const EquivalentTarget& equivalent : contractions_.equivalent_targets) {
    if (!reads_source(equivalent)) continue;
    Six step{};
    for (std::size_t q = 0; q < 6; ++q) step[equivalent.slot[q]] = stride_[q];
    locate(equivalent.target, equivalent.source, step);
  }
}

void SubtaskWorker::round_target(double* target) {
  constexpr int bits_of_float = 24;
  const std::int64_t row = stride_[1];
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = 0; c < extent_[2]; ++c)
      target[r * row + c] = rounded_to_bits<bits_of_float>(target[r * row + c]);
  }
}

void SubtaskWorker::multiply(const Product& product, Side side) {
  if (precision_ == Precision::mixed) return multiply_mixed(product, side);
  const std::optional<OrderedProduct> found = products_.find(product, side);
  if (!found) return;
  count_operations(*found);
  const Six extent = found->in_order(product.destinations.front(), extent_);
  const ProductRows a = found->rows_of_a(extent), b = found->rows_of_b(extent);
  const auto c_is_fastest = [&](const Destination& x) { return found->in_order(x, stride_)[0] == 1; };
  if (!std::all_of(product.destinations.begin(), product.destinations.end(), c_is_fastest)) {
    Six padded = extent;
    padded[0] = row_length(extent[0]);
    const ProductTarget whole{product_.data(), dense_strides(padded), 1.0, true};
    panel_product_.add(a, b, found->contracted, {&whole, 1});
    return add_to_targets(product, side, *found, whole.step);
  }
  product_targets_.clear();
  for (const Destination& destination : product.destinations) {
    bool& written = written_[static_cast<std::size_t>(destination.target)];
    product_targets_.push_back({target(destination.target, side), found->in_order(destination, stride_),
                                static_cast<double>(destination.sign), !written});
    written = true;
  }
  // Each tile of the product is added to all of them, so none may overwrite what another one has added.
  for (ProductTarget& one : product_targets_) {
    const auto same = [&](const ProductTarget& other) { return other.data == one.data; };
    if (!one.assign || std::count_if(product_targets_.begin(), product_targets_.end(), same) == 1) continue;
    std::fill_n(one.data, rows_ * stride_[1], 0.0);
    one.assign = false;
  }
  panel_product_.add(a, b, found->contracted, product_targets_);
}

void SubtaskWorker::multiply_mixed(const Product& product, Side side) {
  const std::optional<OrderedProduct> found = products_.find_in_order(product, side);
  if (!found) return;
  count_operations(*found);
  split_product_.multiply(found->m, found->n, found->contracted, found->a, found->a_stride, found->b, found->b_stride,
                          product_.data());
  add_to_targets(product, side, *found, dense_strides(found->in_order(product.destinations.front(), extent_)));
}

void SubtaskWorker::count_operations(const OrderedProduct& found) {
  operations_ +=
      2.0 * static_cast<double>(found.m) * static_cast<double>(found.n) * static_cast<double>(found.contracted);
}

void SubtaskWorker::add_to_targets(const Product& product, Side side, const OrderedProduct& found,
                                   const Six& in_product) {
  for (const Destination& destination : product.destinations) {
    const Six step = found.in_order(destination, stride_);
    bool& written = written_[static_cast<std::size_t>(destination.target)];
    double* const whole = target(destination.target, side);
    if (step[0] != 1 && !written) clear_padding(whole);
    put_into_target(product_.data(), found.in_order(destination, extent_), in_product, step, destination.sign, !written,
                    whole);
    if (precision_ == Precision::mixed) round_target(whole);
    written = true;
  }
}

void SubtaskWorker::clear_padding(double* target) {
  const std::int64_t row = stride_[1];
  if (extent_[2] == row) return;
  for (std::int64_t r = 0; r < rows_; ++r) {
    for (std::int64_t c = extent_[2]; c < row; ++c) target[r * row + c] = 0.0;
  }
}

void SubtaskWorker::copy_equivalent_target(const EquivalentTarget& equivalent, Side side) {
  // target[x] = source[y] with y[s] = x[slot[s]]. The loops follow the memory of the source: c is its fastest index,
  // then b, a, k, j, i.
  static constexpr std::array<std::size_t, 6> storage_order = {2, 1, 0, 5, 4, 3};
  Six n{}, from{}, to{};
  for (std::size_t q = 0; q < 6; ++q) {
    n[q] = extent_[storage_order[q]];
    from[q] = stride_[storage_order[q]];
    to[q] = stride_[equivalent.slot[storage_order[q]]];
  }
  if (to[0] != 1) clear_padding(target(equivalent.target, side));
  put_into_target(target(equivalent.source, side), n, from, to, 1.0, true, target(equivalent.target, side));
}

void SubtaskWorker::resolve_singles(const Task& task) {
  for (LeftTriples& left : input_.left) left.singles.clear();
  input_.c3.clear();
  singles_.clear();
  vvoo_blocks_.clear();
  const std::int64_t orbitals = space_.orbitals();
  const PanelStore& store = panels_.store();
  double* room = vvoo_scratch_.data();
  for (const DisconnectedTerm& term : contractions_.disconnected) {
    for (std::size_t set = 0; set < store.layout().sets(); ++set) {
      PanelGuard block = panels_.vvoo_block(set, term.vvoo_tiles(task), room);
      const double* vvoo = block.data();
      if (vvoo == nullptr) continue;
      if (panels_.copies_panels()) room += vvoo_block_doubles(space_);
      vvoo_blocks_.push_back(std::move(block));
      const auto offset = [&](const std::array<int, 3>& tiles, int position) {
        return space_[tiles[static_cast<std::size_t>(position)]].offset;
      };
      const double* ov_tensor = store.ov_tensor(set).data() + offset(task.holes, term.hole) * orbitals +
                                offset(task.particles, term.particle);
      const int of_side = problem_.left_side_of(static_cast<int>(set));
      if (of_side == 0) singles_.push_back({&term, set});
      auto& terms = of_side < input_.left_sides ? input_.left[static_cast<std::size_t>(of_side)].singles : input_.c3;
      terms.push_back({term.target, static_cast<double>(term.sign), term.particle, term.hole, term.vvoo_particles,
                       term.vvoo_holes, ov_tensor, orbitals, vvoo});
    }
  }
}

}
