#include "tce_tiles/checks/factor_stages.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tests/support/thread_communicator.hpp"

/// The check of an input with factors by several ranks, which read each factor once.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::int64_t o_count = 2, v_count = 3, naux_count = 13, orbital_count = o_count + v_count;

/// The witness "singles equation" fails above this step.
constexpr double step_limit = 1e-4;

std::size_t as_index(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// A made-up molecule that obeys the equation of the single excitations: the elements f_ia of its Fock matrix are
/// chosen so.
class ConvergedMolecule {
 public:
  ConvergedMolecule() {
    const auto number = [](std::int64_t n, double size) { return size * std::sin(static_cast<double>(1 + 7 * n)); };
    for (std::int64_t n = 0; n < o_count * v_count; ++n) arrays["t1"].push_back(number(n, 0.05));
    arrays["t2"].resize(as_index(o_count * o_count * v_count * v_count));
    for (std::int64_t ia = 0; ia < o_count * v_count; ++ia) {
      for (std::int64_t jb = 0; jb < o_count * v_count; ++jb) {
        const std::int64_t i = ia / v_count, a = ia % v_count, j = jb / v_count, b = jb % v_count;
        arrays["t2"][as_index(((i * o_count + j) * v_count + a) * v_count + b)] = number(ia * jb + ia + jb, 0.04);
      }
    }
    for (std::int64_t q = 0; q < naux_count; ++q) {
      for (std::int64_t p = 0; p < o_count; ++p) {
        for (std::int64_t r = 0; r <= p; ++r) arrays["factors_oo"].push_back(number(50 * q + p * r + p + r, 0.3));
      }
      for (std::int64_t n = 0; n < o_count * v_count; ++n) arrays["factors_ov"].push_back(number(50 * q + 10 + n, 0.3));
      for (std::int64_t n = 0; n < v_count * (v_count + 1) / 2; ++n)
        arrays["factors_vv"].push_back(number(50 * q + 20 + n, 0.3));
    }
    arrays["fock"].assign(as_index(orbital_count * orbital_count), 0.0);
    for (std::int64_t p = 0; p < orbital_count; ++p)
      arrays["fock"][as_index(p * (orbital_count + 1))] = energies[as_index(p)];
    converge();
  }

  DenseInput input() {
    std::vector<CallerArray> described;
    for (const auto& [array, values] : arrays) {
      CallerArray& each = described.emplace_back();
      each.name = array;
      each.shape = shapes.at(array);
      each.reader = [this, name = array](auto offset, auto count, std::span<double> box) {
        read(name, offset, count, box);
      };
    }
    DenseInput result;
    for (const OrbitalClass c : orbital_classes) {
      const bool holes = space_of(c) == Space::hole;
      const auto begin = energies.begin() + (holes ? 0 : o_count),
                 end = holes ? energies.begin() + o_count : energies.end();
      result.header.energies[static_cast<std::size_t>(c)].assign(begin, end);
      result.header.irreps[static_cast<std::size_t>(c)].assign(as_index(holes ? o_count : v_count), 0);
    }
    result.arrays = std::make_shared<CallerArrays>("caller", std::move(described));
    use_factors(result);
    return result;
  }

  /// What a single process finds.
  SinglesResidual residual() {
    const DenseInput all = input();
    const auto check = make_dense_check(all, {.test_with = &all});
    for (int stage = 0; stage < check->stages(); ++stage) check->accept(stage, check->run(stage));
    return check->measurements().singles.value();
  }

  const std::vector<double> energies{-1.0, -0.7, 0.4, 0.6, 0.9};
  const std::map<std::string, std::vector<std::int64_t>> shapes{
      {"t1", {o_count, v_count}},
      {"t2", {o_count, o_count, v_count, v_count}},
      {"fock", {orbital_count, orbital_count}},
      {"factors_oo", {naux_count, o_count*(o_count + 1) / 2}},
      {"factors_ov", {naux_count, o_count, v_count}},
      {"factors_vv", {naux_count, v_count*(v_count + 1) / 2}}};
  std::map<std::string, std::vector<double>> arrays;

 private:
  void change_fock(const SinglesResidual& place, double change) {
    std::vector<double>& fock = arrays["fock"];
    fock[as_index(place.i * orbital_count + o_count + place.a)] += change;
    fock[as_index((o_count + place.a) * orbital_count + place.i)] += change;
  }

  /// Removes the largest element of the residual again and again. The check gives it without its sign.
  void converge() {
    SinglesResidual found = residual();
    for (int n = 0; n < 1000 && found.step > 1e-9; ++n) {
      const double change = found.step * (energies[as_index(o_count + found.a)] - energies[as_index(found.i)]);
      change_fock(found, change);
      SinglesResidual next = residual();
      if (next.step > 1.5 * found.step) {
        change_fock(found, -2.0 * change);
        next = residual();
      }
      found = next;
    }
  }

  void read(const std::string& name, std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> box) {
    const std::vector<std::int64_t>& shape = shapes.at(name);
    for (std::int64_t n = 0; n < std::ssize(box); ++n) {
      std::int64_t rest = n, from = 0, stride = 1;
      for (std::size_t k = shape.size(); k-- > 0; stride *= shape[k], rest /= count[k]) {
        from += (offset[k] + rest % count[k]) * stride;
      }
      box[as_index(n)] = arrays.at(name)[as_index(from)];
    }
  }
};

/// Checks the molecule with several ranks. Returns the largest step of t1, the same on all ranks.
double step_of_ranks(ConvergedMolecule& molecule, int ranks, bool with_arrays) {
  std::vector<double> steps(as_index(ranks));
  const auto failures = failures_of_ranks(
      ranks,
      [&](Communicator& communicator) {
        const DenseInput input = molecule.input();
        const auto check =
            make_dense_check(input, {.test_with = &input, .part = communicator.rank(), .parts = ranks, .threads = 1});
        for (int stage = 0; stage < check->stages(); ++stage) {
          check->read_together(stage, communicator);
          std::vector<double> found = check->run(stage);
          communicator.allreduce_sum(found);
          check->accept(stage, found);
        }
        steps[as_index(communicator.rank())] = check->measurements().singles.value().step;
      },
      with_arrays);
  EXPECT_EQ(failures, std::vector<std::string>(as_index(ranks)));
  for (const double step : steps) EXPECT_EQ(step, steps[0]);
  return steps[0];
}

TEST(FactorsOfSeveralRanks, OfAnotherMoleculeAreFoundByAnyNumberOfRanks) {
  ConvergedMolecule molecule;
  for (const bool with_arrays : {true, false}) {
    for (const int ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks");
      EXPECT_LT(step_of_ranks(molecule, ranks, with_arrays), 1e-8);
      for (const auto& [name, values] : std::map(molecule.arrays)) {
        std::vector<double>& wrong = molecule.arrays[name];
        for (double& each : wrong) each *= -1.2;
        EXPECT_GT(step_of_ranks(molecule, ranks, with_arrays), step_limit) << name;
        wrong = values;
        if (name == "t2" || name == "fock") continue;  // these have a symmetry
        wrong[wrong.size() / 2] += 0.1;
        EXPECT_GT(step_of_ranks(molecule, ranks, with_arrays), step_limit) << "one element of " << name;
        wrong = values;
      }
    }
  }
}

}
}
