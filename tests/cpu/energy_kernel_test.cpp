#include "cxx/cpu/energy_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "cxx/cpu/scatter.hpp"
#include "cxx/triples/contraction_list.hpp"
#include "cxx/triples/energy.hpp"
#include "tests/support/calculations.hpp"

/// Compares the vectorised sum over the elements of a task with plain loops over the same arrays.
namespace trifuse {
namespace {

using namespace trifuse::testing;

/// Extents of a, b, c, i, j, k, and flags for equal tiles.
struct Shape {
  std::array<std::int64_t, 6> extent;
  std::array<bool, 2> equal_particles, equal_holes;
};

/// Random targets and singles of one task.
class RandomTask {
 public:
  RandomTask(const Shape& shape, int targets, bool two_sided, unsigned seed) : random_(seed) {
    input_.targets = targets;
    input_.extent = shape.extent;
    input_.equal_particles = shape.equal_particles;
    input_.equal_holes = shape.equal_holes;
    input_.weight = 0.75;
    make_energies(shape);
    for (int t = 0; t < targets; ++t) {
      const auto s = static_cast<std::size_t>(t);
      input_.d_right[s] = input_.left[0].d[s] = make_target();
      if (two_sided) input_.left[0].d[s] = make_target();
      input_.step[s] = target_strides(shape.extent, row_length(shape.extent[2]));
    }
    for (int t = 0; t < targets; ++t)
      for (int particle = 0; particle < 3; ++particle)
        for (int hole = 0; hole < (targets == 1 ? 3 : 1); ++hole) make_singles(t, particle, hole);
  }

  EnergyInput& input() { return input_; }

  /// Makes targets 3 and 5 target 1 with a and b, or two holes, in the other order, where their tiles are equal.
  void exchange_equal_tiles() {
    exchange(3, {1, 0, 2, 3, 4, 5}, input_.equal_particles[0]);
    exchange(3, {0, 1, 2, 4, 3, 5}, input_.equal_holes[0]);
    exchange(5, {0, 1, 2, 3, 5, 4}, input_.equal_holes[1]);
  }

  std::vector<TaskEnergy> kernel(const std::vector<double>& omega2) const {
    std::vector<TaskEnergy> energies(omega2.size(), TaskEnergy{{1.0, 2.0}, {3.0, 4.0}});  // must be overwritten
    sum_energies(input_, omega2, energies);
    return energies;
  }

  std::vector<TaskEnergy> plain(const std::vector<double>& omega2) const {
    std::vector<TaskEnergy> energies(omega2.size());
    const auto& n = input_.extent;
    std::array<std::int64_t, 6> x{};
    for (x[0] = 0; x[0] < n[0]; ++x[0])
      for (x[1] = 0; x[1] < n[1]; ++x[1])
        for (x[2] = 0; x[2] < n[2]; ++x[2])
          for (x[3] = 0; x[3] < n[3]; ++x[3])
            for (x[4] = 0; x[4] < n[4]; ++x[4])
              for (x[5] = 0; x[5] < n[5]; ++x[5])
                if (const double count = orders(x); count > 0.0 && !vanishes(x)) add(x, count, omega2, energies);
    return energies;
  }

  void set_energy(std::size_t slot, std::int64_t orbital, double value) {
    eps_[slot][static_cast<std::size_t>(orbital)] = value;
  }
  /// The position in a target of the element with these indices.
  std::size_t place(const std::array<std::int64_t, 6>& x) const {
    const auto& n = input_.extent;
    return static_cast<std::size_t>(x[2] + row_length(n[2]) *
                                               (x[1] + n[1] * (x[0] + n[0] * (x[5] + n[5] * (x[4] + n[4] * x[3])))));
  }
  std::vector<std::vector<double>>& targets() { return targets_; }

 private:
  using Indices = std::array<std::int64_t, 6>;

  /// Makes target `t` target 1 with its indices in the order `slots`, in addition to earlier orders.
  void exchange(std::size_t t, const std::array<std::size_t, 6>& slots, bool equal) {
    if (!equal) return;
    input_.d_right[t] = input_.d_right[1];
    input_.left[0].d[t] = input_.left[0].d[1];
    const Six step = input_.step[t];
    for (std::size_t q = 0; q < 6; ++q) input_.step[t][q] = step[slots[q]];
    exchanged_[t].push_back(slots);
  }
  /// Returns an element of a target of a side.
  double element(const std::array<const double*, 6>& side, std::size_t t, Indices x) const {
    for (const auto& slots : exchanged_[t]) {
      const Indices from = x;
      for (std::size_t q = 0; q < 6; ++q) x[q] = from[slots[q]];
    }
    return side[t][place(x)];
  }
  double number() { return std::uniform_real_distribution<double>(-1.0, 1.0)(random_); }

  /// Equal tiles have the same energies.
  void make_energies(const Shape& shape) {
    for (std::size_t slot = 0; slot < 6; ++slot) {
      const bool hole = slot >= 3;
      const auto& equal = hole ? shape.equal_holes : shape.equal_particles;
      const bool same = slot % 3 != 0 && equal[slot % 3 - 1];
      eps_[slot].assign(static_cast<std::size_t>(shape.extent[slot]) + 8, 0.0);
      for (std::size_t x = 0; x < static_cast<std::size_t>(shape.extent[slot]); ++x) {
        eps_[slot][x] = same ? eps_[slot - 1][x] : (hole ? -2.0 : 2.0) + number();
      }
    }
    for (std::size_t slot = 0; slot < 6; ++slot) input_.eps[slot] = eps_[slot].data();
  }
  const double* make_target() {
    const auto& n = input_.extent;
    const std::int64_t row = row_length(n[2]);
    auto& target = targets_.emplace_back(static_cast<std::size_t>(n[0] * n[1] * row * n[3] * n[4] * n[5]));
    for (std::size_t at = 0; at < target.size(); ++at) {
      if (static_cast<std::int64_t>(at) % row < n[2]) target[at] = number();
    }
    return target.data();
  }
  const double* make_array(std::int64_t size) {
    auto& array = singles_.emplace_back(static_cast<std::size_t>(size) + 8);
    for (double& x : array) x = number();
    return array.data();
  }
  void make_singles(int target, int particle, int hole) {
    const auto& n = input_.extent;
    SinglesTerm term{};
    term.target = target;
    term.sign = (particle + hole) % 2 == 0 ? 1.0 : -1.0;
    term.particle = particle;
    term.hole = hole;
    term.vvoo_particles = {particle == 0 ? 1 : 0, particle == 2 ? 1 : 2};
    term.vvoo_holes = {hole == 0 ? 1 : 0, hole == 2 ? 1 : 2};
    const auto of = [&](int slot) { return n[static_cast<std::size_t>(slot)]; };
    term.ov_tensor_stride = of(particle) + 3;
    term.ov_tensor = make_array(term.ov_tensor_stride * of(3 + hole));
    term.vvoo = make_array(of(term.vvoo_particles[0]) * of(term.vvoo_particles[1]) * of(3 + term.vvoo_holes[0]) *
                           of(3 + term.vvoo_holes[1]));
    input_.left[0].singles.push_back(term);
  }
  bool vanishes(const std::array<std::int64_t, 6>& x) const {
    const auto triple = [&](std::size_t first, const std::array<bool, 2>& equal) {
      const bool one = equal[0] && x[first] == x[first + 1], two = equal[1] && x[first + 1] == x[first + 2];
      const bool ends = equal[0] && equal[1] && x[first] == x[first + 2];
      return input_.targets == 1 ? one || two || ends : one && two;
    };
    return triple(0, input_.equal_particles) || triple(3, input_.equal_holes);
  }
  double singles(int target, const std::array<std::int64_t, 6>& x) const {
    double sum = 0.0;
    const auto at = [&](int slot) { return x[static_cast<std::size_t>(slot)]; };
    const auto of = [&](int slot) { return input_.extent[static_cast<std::size_t>(slot)]; };
    for (const SinglesTerm& t : input_.left[0].singles) {
      if (t.target != target) continue;
      const auto [p1, p2] = t.vvoo_particles;
      const auto [h1, h2] = t.vvoo_holes;
      const std::int64_t pair = at(p2) + of(p2) * (at(p1) + of(p1) * (at(3 + h2) + of(3 + h2) * at(3 + h1)));
      sum += t.sign * t.ov_tensor[at(t.particle) + t.ov_tensor_stride * at(3 + t.hole)] * t.vvoo[pair];
    }
    return sum;
  }
  /// Returns how many different elements there are with the orbitals of `x` in other orders, or 0 if `x` is not the
  /// first of them. They have the same energy in a task, but not here, where all numbers are random.
  double orders(const std::array<std::int64_t, 6>& x) const {
    const auto of_kind = [&](std::size_t first, const std::array<bool, 2>& equal) {
      const std::size_t tile_of_second = equal[0] ? 0 : 1;
      const std::array<std::size_t, 3> tile = {0, tile_of_second, equal[1] ? tile_of_second : 2};
      std::array<std::size_t, 3> order = {0, 1, 2};
      std::set<std::array<std::int64_t, 3>> all;
      do {
        if (tile[order[0]] == tile[0] && tile[order[1]] == tile[1] && tile[order[2]] == tile[2])
          all.insert({x[first + order[0]], x[first + order[1]], x[first + order[2]]});
      } while (std::next_permutation(order.begin(), order.end()));
      const bool is_first = *all.begin() == std::array{x[first], x[first + 1], x[first + 2]};
      return is_first ? static_cast<double>(all.size()) : 0.0;
    };
    return of_kind(0, input_.equal_particles) * of_kind(3, input_.equal_holes);
  }
  void add(const std::array<std::int64_t, 6>& x, double count, const std::vector<double>& omega2,
           std::vector<TaskEnergy>& energies) const {
    std::array<double, 6> left{}, right{}, s{};
    for (int t = 0; t < input_.targets; ++t) {
      const auto n = static_cast<std::size_t>(t);
      left[n] = element(input_.left[0].d, n, x);
      right[n] = element(input_.d_right, n, x);
      s[n] = singles(t, x);
    }
    const auto six = [](const std::array<double, 6>& v) { return SixTargets{v[0], v[1], v[2], v[3], v[4], v[5]}; };
    Numerators n;
    if (input_.targets == 6) {
      n = spin_adapted_numerators(six(left), six(s), six(right));
    } else {
      n.all = spin_orbital_energies(left[0] * right[0], s[0] * right[0]);
      if (input_.same_spin) n.same = n.all;
    }
    double delta = 0.0;
    for (std::size_t slot = 0; slot < 6; ++slot) {
      delta += (slot < 3 ? -1.0 : 1.0) * eps_[slot][static_cast<std::size_t>(x[slot])];
    }
    for (std::size_t w = 0; w < omega2.size(); ++w) {
      const double scale = count * input_.weight / (delta - 3.0 * omega2[w]);
      energies[w].same += scale * n.same;
      energies[w].mixed += scale * (n.all - n.same);
    }
  }

  std::mt19937 random_;
  EnergyInput input_;
  std::array<std::vector<double>, 6> eps_;
  std::vector<std::vector<double>> targets_, singles_;
  std::array<std::vector<std::array<std::size_t, 6>>, 6> exchanged_;  ///< [target] see exchange()
};

const std::vector<Shape> shapes = {
    {{2, 3, 4, 1, 2, 3}, {false, false}, {false, false}},  {{1, 1, 1, 1, 1, 1}, {false, false}, {false, false}},
    {{2, 2, 7, 2, 1, 1}, {true, false}, {false, false}},   {{2, 9, 9, 2, 2, 1}, {false, true}, {true, false}},
    {{3, 3, 3, 2, 2, 2}, {true, true}, {true, true}},      {{8, 8, 8, 1, 2, 2}, {true, true}, {false, true}},
    {{2, 1, 16, 2, 1, 2}, {false, false}, {false, false}}, {{1, 2, 17, 1, 1, 2}, {false, false}, {false, false}},
    {{1, 2, 40, 1, 1, 1}, {false, false}, {false, false}}, {{17, 17, 17, 2, 2, 2}, {true, true}, {true, true}},
};

TEST(EnergyKernel, AgreesWithPlainLoops) {
  const std::vector<double> omega2 = {0.0, 0.1, 0.7};
  unsigned seed = 0;
  for (const Shape& shape : shapes) {
    for (const int targets : {1, 6}) {
      for (const bool two_sided : {false, true}) {
        for (const bool same_spin : {false, true}) {
          RandomTask task(shape, targets, two_sided, ++seed);
          task.input().same_spin = same_spin;
          // In the spin-adapted formulation, whose kernel takes no notice of the spin, both ways are tried instead.
          if (targets == 6 && same_spin) task.exchange_equal_tiles();
          const auto found = numbers_of(task.kernel(omega2)), expected = numbers_of(task.plain(omega2));
          if (std::all_of(expected.begin(), expected.end(), [](double x) { return x == 0.0; })) {
            EXPECT_EQ(found, expected);
            continue;
          }
          EXPECT_LT(relative_difference(found, expected), 1e-12) << ::testing::PrintToString(shape.extent);
        }
      }
    }
  }
}

TEST(EnergyKernel, LeavesOutElementsThatVanishByAntisymmetry) {
  // These elements, and perhaps their denominators, are zero except for rounding. Here both get arbitrary numbers.
  RandomTask task({{3, 3, 3, 2, 2, 2}, {true, true}, {true, true}}, 1, false, 5);
  const auto expected = task.kernel({0.0});
  for (std::int64_t x = 0; x < 3; ++x) task.targets()[0][task.place({x, x, (x + 1) % 3, 0, 1, 0})] = 1e30;
  task.targets()[0][task.place({0, 1, 2, 1, 1, 0})] = 1e30;
  task.targets()[0][task.place({1, 2, 2, 0, 1, 0})] = 1e30;
  EXPECT_EQ(numbers_of(task.kernel({0.0})), numbers_of(expected));
}

TEST(EnergyKernel, SurvivesAZeroDenominatorOfAnElementThatIsZero) {
  for (const int targets : {1, 6}) {
    RandomTask task({{2, 2, 5, 1, 2, 2}, {false, false}, {false, false}}, targets, false, 6);
    task.input().left[0].singles.clear();
    const std::array<std::int64_t, 6> element = {1, 0, 3, 0, 1, 1};
    for (std::size_t slot = 0; slot < 6; ++slot) task.set_energy(slot, element[slot], slot < 3 ? 0.5 : 0.5);
    for (auto& target : task.targets()) target[task.place(element)] = 0.0;
    for (const double number : numbers_of(task.kernel({0.0}))) EXPECT_TRUE(std::isfinite(number));
  }
}

}
}
