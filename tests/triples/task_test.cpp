#include "cxx/triples/task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "tests/support/tile_spaces.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;
using Triple = std::array<int, 3>;

/// A handwritten task: tiles, the inverse of the weight, and the spin case.
struct Expected {
  Triple particles, holes;
  double inverse_weight;
  SpinCase spin_case;
};

void expect_tasks(const TileSpace& space, SpinFormulation formulation, const std::vector<Expected>& expected) {
  const std::vector<Task> tasks = enumerate_tasks(space, formulation);
  ASSERT_EQ(tasks.size(), expected.size());
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    EXPECT_EQ(tasks[n].particles, expected[n].particles) << "task " << n;
    EXPECT_EQ(tasks[n].holes, expected[n].holes) << "task " << n;
    EXPECT_DOUBLE_EQ(tasks[n].weight, 1.0 / expected[n].inverse_weight) << "task " << n;
    EXPECT_EQ(tasks[n].spin_case, expected[n].spin_case) << "task " << n;
  }
}

// One tile each of alpha holes (0), beta holes (1), alpha particles (2) and beta particles (3).

TEST(TasksOfFourTiles, AreOnePerSpinCaseForAnUnrestrictedReference) {
  using enum SpinCase;
  expect_tasks(one_tile_per_class(3, false), SpinFormulation::spin_orbital,
               {{{2, 2, 2}, {0, 0, 0}, 36.0, aaa},
                {{2, 2, 3}, {0, 0, 1}, 4.0, aab},
                {{2, 3, 3}, {0, 1, 1}, 4.0, abb},
                {{3, 3, 3}, {1, 1, 1}, 36.0, bbb}});
}

TEST(TasksOfFourTiles, OfARestrictedReferenceCountTwiceAndLeaveOutMostlyBeta) {
  using enum SpinCase;
  expect_tasks(one_tile_per_class(3, true), SpinFormulation::spin_orbital,
               {{{2, 2, 2}, {0, 0, 0}, 18.0, aaa}, {{2, 2, 3}, {0, 0, 1}, 2.0, aab}});
}

TEST(TasksOfFourTiles, HaveNoThreeDifferentOrbitalsInATileOfTwo) {
  using enum SpinCase;
  expect_tasks(one_tile_per_class(2, false), SpinFormulation::spin_orbital,
               {{{2, 2, 3}, {0, 0, 1}, 4.0, aab}, {{2, 3, 3}, {0, 1, 1}, 4.0, abb}});
}

TEST(TasksOfFourTiles, OfSingleOrbitalsAreNone) {
  expect_tasks(one_tile_per_class(1, false), SpinFormulation::spin_orbital, {});
  expect_tasks(one_tile_per_class(1, true), SpinFormulation::spin_adapted, {});
}

TEST(TasksOfFourTiles, AreOneInSpinAdaptedForm) {
  // Two electrons of different spins may share an orbital, so tiles of two orbitals are enough.
  expect_tasks(one_tile_per_class(2, true), SpinFormulation::spin_adapted,
               {{{2, 2, 2}, {0, 0, 0}, 36.0, SpinCase::aab}});
}

TEST(TasksWithSymmetry, HaveIrrepsThatMultiplyToTheTotallySymmetricOne) {
  using enum OrbitalClass;
  // Two tiles of alpha holes (0, 1), two of alpha particles (4, 5); the second of each pair has irrep 1.
  std::vector<Tile> tiles;
  for (const OrbitalClass c : orbital_classes) {
    tiles.push_back(tile(c, 2, 0));
    tiles.push_back(tile(c, 2, 1));
  }
  const SpinCase all = SpinCase::aab;
  expect_tasks({tiles, true}, SpinFormulation::spin_adapted,
               {{{4, 4, 4}, {0, 0, 0}, 36.0, all},
                {{4, 4, 4}, {0, 1, 1}, 12.0, all},
                {{4, 4, 5}, {0, 0, 1}, 4.0, all},
                {{4, 4, 5}, {1, 1, 1}, 12.0, all},
                {{4, 5, 5}, {0, 0, 0}, 12.0, all},
                {{4, 5, 5}, {0, 1, 1}, 4.0, all},
                {{5, 5, 5}, {0, 0, 1}, 12.0, all},
                {{5, 5, 5}, {1, 1, 1}, 36.0, all}});
}

TEST(Tasks, ComeInNwchemsOrderWithTheFirstParticleOutermost) {
  const TileSpace space = one_tile_per_class(9, false).retiled(3, 3);
  const auto tasks = enumerate_tasks(space, SpinFormulation::spin_orbital);
  const auto key = [](const Task& t) { return std::tie(t.particles, t.holes); };
  EXPECT_GT(tasks.size(), 500u);
  EXPECT_TRUE(
      std::is_sorted(tasks.begin(), tasks.end(), [&](const Task& x, const Task& y) { return key(x) < key(y); }));
}

/// All excitations of the tasks, each with the sum of the factors of its tasks.
using Weights = std::map<std::array<std::int64_t, 6>, double>;

Weights weights_of(const TileSpace& space, SpinFormulation formulation) {
  Weights weights;
  for (const Task& task : enumerate_tasks(space, formulation)) {
    std::array<std::int64_t, 6> begin{}, end{}, x{};
    for (std::size_t q = 0; q < 6; ++q) {
      const Tile& t = space[q < 3 ? task.particles[q] : task.holes[q - 3]];
      begin[q] = x[q] = t.offset;
      end[q] = t.offset + t.size;
    }
    for (bool more = true; more;) {
      std::array<std::int64_t, 6> sorted = x;
      std::sort(sorted.begin(), sorted.begin() + 3);
      std::sort(sorted.begin() + 3, sorted.end());
      weights[sorted] += task.weight;
      std::size_t q = 0;
      while (q < 6 && ++x[q] == end[q]) {
        x[q] = begin[q];
        ++q;
      }
      more = q < 6;
    }
  }
  return weights;
}

/// The correct weight: 1 for three different orbitals, 1/2 if two are equal, 0 if the excitation vanishes.
double wanted_weight(const TileSpace& space, const std::vector<Orbital>& orbitals, SpinFormulation formulation,
                     const std::array<std::int64_t, 6>& x) {
  int spins = 0, irreps = 0;
  double weight = 1.0;
  for (std::size_t q = 0; q < 6; ++q) {
    const Orbital& orbital = orbitals[static_cast<std::size_t>(x[q])];
    spins += (q < 3 ? 1 : -1) * spin_number(orbital.spin);
    irreps ^= orbital.irrep;
  }
  for (const std::size_t first : {std::size_t{0}, std::size_t{3}}) {
    const int pairs = (x[first] == x[first + 1] ? 1 : 0) + (x[first + 1] == x[first + 2] ? 1 : 0);
    if (pairs > (formulation == SpinFormulation::spin_adapted ? 1 : 0)) return 0.0;
    weight /= pairs + 1;
  }
  if (spins != 0 || irreps != 0) return 0.0;
  return formulation == SpinFormulation::spin_orbital && space.restricted() ? 2.0 * weight : weight;
}

/// Expects the correct weight for all excitations that do not vanish. Executors leave out elements that vanish, so
/// their weights do not matter.
void expect_every_excitation_once(const TileSpace& space, SpinFormulation formulation) {
  const auto orbitals = orbitals_of(space);
  const bool half = formulation == SpinFormulation::spin_orbital && space.restricted();
  const Weights weights = weights_of(space, formulation);
  std::size_t compared = 0;
  const auto holes = static_cast<std::int64_t>(
      std::count_if(orbitals.begin(), orbitals.end(), [](const Orbital& o) { return o.space == Space::hole; }));
  const auto used = [&](std::int64_t o) {
    return formulation == SpinFormulation::spin_orbital || orbitals[static_cast<std::size_t>(o)].spin == Spin::alpha;
  };
  const auto for_triples = [&](std::int64_t begin, std::int64_t end, auto function) {
    for (std::int64_t x = begin; x < end; ++x)
      for (std::int64_t y = x; y < end; ++y)
        for (std::int64_t z = y; z < end; ++z)
          if (used(x) && used(y) && used(z)) function(x, y, z);
  };
  for_triples(holes, space.orbitals(), [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    int betas = 0;
    for (const std::int64_t o : {a, b, c}) betas += orbitals[static_cast<std::size_t>(o)].spin == Spin::beta ? 1 : 0;
    if (half && betas > 1) return;
    for_triples(0, holes, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      const double wanted = wanted_weight(space, orbitals, formulation, {a, b, c, i, j, k});
      if (wanted == 0.0) return;
      const auto found = weights.find({a, b, c, i, j, k});
      ASSERT_NE(found, weights.end());
      ASSERT_NEAR(found->second, wanted, 1e-14);
      ++compared;
    });
  });
  EXPECT_GT(compared, 0u);
}

TEST(Tasks, CountEveryExcitationOnceForAnyTiles) {
  using enum OrbitalClass;
  const std::vector<OrbitalRange> closed = {
      {hole_alpha, 0, 3}, {hole_beta, 0, 3}, {particle_alpha, 0, 4}, {particle_beta, 0, 4}};
  const std::vector<OrbitalRange> open = {
      {hole_alpha, 0, 4}, {hole_beta, 0, 2}, {particle_alpha, 0, 3}, {particle_beta, 0, 5}};
  const std::vector<OrbitalRange> closed_symmetric = {
      {hole_alpha, 0, 2},     {hole_alpha, 1, 2},     {hole_beta, 0, 2},     {hole_beta, 1, 2},
      {particle_alpha, 0, 1}, {particle_alpha, 1, 3}, {particle_beta, 0, 1}, {particle_beta, 1, 3}};
  const std::vector<OrbitalRange> open_symmetric = {{hole_alpha, 0, 3},    {hole_alpha, 1, 1},
                                                    {hole_beta, 0, 2},     {particle_alpha, 0, 2},
                                                    {particle_beta, 0, 3}, {particle_beta, 1, 2}};
  for (const std::int64_t size : {1, 2, 3, 5}) {
    const auto space = [&](const auto& ranges, bool restricted) {
      return TileSpace::partition(ranges, size, 5 - size / 2, restricted);
    };
    for (const auto& ranges : {closed, closed_symmetric}) {
      expect_every_excitation_once(space(ranges, true), SpinFormulation::spin_adapted);
      expect_every_excitation_once(space(ranges, true), SpinFormulation::spin_orbital);
      expect_every_excitation_once(space(ranges, false), SpinFormulation::spin_orbital);
    }
    for (const auto& ranges : {open, open_symmetric})
      expect_every_excitation_once(space(ranges, false), SpinFormulation::spin_orbital);
  }
}

TEST(RefinedTasks, PartitionTheTasksOfTheSmallerTiles) {
  const auto key = [](const Task& t) { return std::tie(t.particles, t.holes, t.weight, t.spin_case); };
  const auto less = [&](const Task& x, const Task& y) { return key(x) < key(y); };
  std::map<SpinFormulation, std::size_t> compared;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const bool restricted = seed % 2 == 0;
    const int irreps = seed < 3 ? 1 : 2;
    const auto ranges = RandomRanges(seed).draw(irreps, 6, restricted);
    const TileSpace coarse = TileSpace::partition(ranges, 4, 5, restricted);
    for (const std::int64_t size : {1, 2, 3, 9}) {
      const TileSpace fine = coarse.refined(size, size);
      for (const SpinFormulation formulation : {SpinFormulation::spin_orbital, SpinFormulation::spin_adapted}) {
        if (formulation == SpinFormulation::spin_adapted && !restricted) continue;
        std::vector<Task> subtasks;
        for (const Task& task : enumerate_tasks(coarse, formulation)) {
          const auto inside = refine_task(coarse, fine, formulation, task);
          subtasks.insert(subtasks.end(), inside.begin(), inside.end());
        }
        std::sort(subtasks.begin(), subtasks.end(), less);
        const std::vector<Task> whole = enumerate_tasks(fine, formulation);
        compared[formulation] += whole.size();
        ASSERT_EQ(subtasks.size(), whole.size());
        for (std::size_t n = 0; n < whole.size(); ++n) ASSERT_EQ(key(subtasks[n]), key(whole[n]));
      }
    }
  }
  EXPECT_GT(compared[SpinFormulation::spin_orbital], 0u);
  EXPECT_GT(compared[SpinFormulation::spin_adapted], 0u);
}

}
}
