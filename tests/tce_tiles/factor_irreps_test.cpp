#include "tce_tiles/checks/factor_irreps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::int64_t functions = 8;
/// Irreps of the orbitals of each class: alpha holes, beta holes, alpha particles, beta particles.
const std::array<std::vector<int>, 4> irreps_of_classes = {
    std::vector{0, 1, 2}, std::vector{0, 3}, std::vector{0, 0, 1, 2, 3, 1, 2}, std::vector{3, 1, 0, 2, 0}};

std::size_t place(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Factors of a made-up molecule, [naux,p,q] by name. An auxiliary function Q has the irrep Q modulo 4.
class FactorsWithIrreps : public ::testing::TestWithParam<bool> {
 protected:
  bool restricted() const { return GetParam(); }

  void SetUp() override {
    for (const FactorSpec& spec : factor_arrays(restricted())) {
      const std::vector<int>&p_irreps = irreps(spec.p), &q_irreps = irreps(spec.q);
      std::vector<double>& values = factors_[spec.name];
      for (std::int64_t x = 0; x < functions; ++x) {
        for (std::size_t p = 0; p < p_irreps.size(); ++p) {
          for (std::size_t q = 0; q < q_irreps.size(); ++q) {
            const bool allowed = (p_irreps[p] ^ q_irreps[q]) == static_cast<int>(x % 4);
            const auto n = static_cast<double>(p * q + p + q + 17 * static_cast<std::size_t>(x));
            values.push_back(allowed ? 1.0 + 0.3 * std::sin(n) : 0.0);
          }
        }
      }
    }
  }
  const std::vector<int>& irreps(OrbitalClass c) const {
    const auto n = static_cast<std::size_t>(c);
    return irreps_of_classes[restricted() ? n / 2 * 2 : n];
  }
  /// The factors B[Q,p,q] and B[Q,q,p] of two particles.
  void change_vv(const std::string& name, std::int64_t x, std::int64_t p, std::int64_t q, double value) {
    const auto v = std::llround(std::sqrt(static_cast<double>(factors_.at(name).size()) / functions));
    factors_.at(name)[place((x * v + p) * v + q)] = factors_.at(name)[place((x * v + q) * v + p)] = value;
  }

  DenseInput input() {
    DenseInput result;
    result.header.restricted = restricted();
    result.header.symmetry = true;
    for (const OrbitalClass c : orbital_classes) {
      const auto n = static_cast<std::size_t>(c);
      result.header.irreps[n] = irreps(c);
      result.header.energies[n].assign(irreps(c).size(), space_of(c) == Space::hole ? -1.0 : 1.0);
    }
    std::vector<CallerArray> arrays;
    for (const FactorSpec& spec : factor_arrays(restricted())) {
      CallerArray& array = arrays.emplace_back();
      array.name = spec.name;
      array.shape = {functions, std::ssize(irreps(spec.p)), std::ssize(irreps(spec.q))};
      array.reader = [this, name = spec.name, shape = array.shape](auto offset, auto count, std::span<double> box) {
        const std::lock_guard lock(mutex_);
        reads_[name] += std::ssize(box);
        std::size_t n = 0;
        for (std::int64_t x = offset[0]; x < offset[0] + count[0]; ++x) {
          for (std::int64_t p = offset[1]; p < offset[1] + count[1]; ++p) {
            for (std::int64_t q = offset[2]; q < offset[2] + count[2]; ++q) {
              box[n++] = factors_.at(name)[place((x * shape[1] + p) * shape[2] + q)];
            }
          }
        }
      };
    }
    result.arrays = std::make_shared<CallerArrays>("caller", std::move(arrays));
    use_factors(result);
    return result;
  }
  /// Returns the messages of all parts.
  std::vector<std::string> messages(int parts) {
    const DenseInput all = input();
    const auto held = all.factor_source->acquire_factors(nullptr);
    const FactorIrreps check(all);
    std::vector<std::string> found;
    for (int part = 0; part < parts; ++part) {
      found.emplace_back();
      try {
        check.run(part, parts, 2, nullptr);
      } catch (const InputError& error) {
        found.back() = error.what();
      }
    }
    return found;
  }

  std::map<std::string, std::vector<double>> factors_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> reads_;  ///< elements that were read, by name
};

INSTANTIATE_TEST_SUITE_P(Reference, FactorsWithIrreps, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Restricted" : "Unrestricted"; });

TEST_P(FactorsWithIrreps, AreAcceptedByAllParts) {
  for (const int parts : {1, 2, 5, 20}) {
    EXPECT_EQ(messages(parts), std::vector<std::string>(static_cast<std::size_t>(parts)));
  }
}

TEST_P(FactorsWithIrreps, AreRefusedByOnePartIfAnElementIsForbidden) {
  for (const FactorSpec& spec : factor_arrays(restricted())) {
    if (space_of(spec.p) != Space::particle) continue;
    const std::vector<int>& of_class = irreps(spec.p);
    for (std::int64_t p = 0; p < std::ssize(of_class); ++p) {
      for (std::int64_t q = 0; q <= p; ++q) {
        const int product = of_class[place(p)] ^ of_class[place(q)];
        const std::int64_t wrong = product == 3 ? 4 : product + 1;  // an auxiliary function of another irrep
        change_vv(spec.name, wrong, p, q, 0.25);
        for (const int parts : {1, 3}) {
          int refused = 0;
          for (const std::string& message : messages(parts)) {
            if (message.empty()) continue;
            ++refused;
            EXPECT_NE(message.find("," + std::to_string(p) + "," + std::to_string(q) + "] of array '"),
                      std::string::npos)
                << message;
            EXPECT_NE(message.find("but by the irreps of its orbitals it must be zero"), std::string::npos) << message;
          }
          EXPECT_EQ(refused, 1) << spec.name << " " << p << " " << q;
        }
        // An element that moves no integral above the tolerance is accepted.
        change_vv(spec.name, wrong, p, q, 1e-9);
        EXPECT_EQ(messages(1).front(), "");
        change_vv(spec.name, wrong, p, q, 0.0);
      }
    }
  }
}

TEST_P(FactorsWithIrreps, AreReadInSlabsAndNotStored) {
  for (const int parts : {1, 3}) {
    const DenseInput all = input();
    const auto held = all.factor_source->acquire_factors(nullptr);
    const FactorIrreps check(all);
    for (const FactorSpec& spec : factor_arrays(restricted())) {
      if (space_of(spec.p) != Space::particle) continue;
      const std::int64_t v = std::ssize(irreps(spec.p)), plane = v * v;
      const OrbitalClass holes =
          spec.p == OrbitalClass::particle_alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta;
      const std::int64_t step = FactorIrreps::slab_particles(std::ssize(irreps(holes)), v);
      EXPECT_LT(step, v);
      std::int64_t most = 0, all_slabs = 0;
      for (int part = 0; part < parts; ++part) {
        reads_.clear();
        check.run(part, parts, 1, nullptr);
        const std::int64_t slabs = reads_[spec.name] / (functions * plane);
        most = std::max(most, slabs);
        all_slabs += slabs;
      }
      // One slab after another: each needs all factors once.
      EXPECT_GE(all_slabs, (v + step - 1) / step);
      if (parts == 1) {
        EXPECT_EQ(all_slabs, (v + step - 1) / step);
      }
      EXPECT_LE(most, (v + step - 1) / step);
    }
  }
}

TEST_P(FactorsWithIrreps, AreReadOnceInARoundByAllRanksTogether) {
  for (const int ranks : {1, 2, 3, 5, 20}) {
    const DenseInput all = input();
    const auto held = all.factor_source->acquire_factors(nullptr);
    reads_.clear();
    const auto failures = failures_of_ranks(
        ranks,
        [&](Communicator& communicator) {
          FactorIrreps(all).run(communicator.rank(), ranks, 2, nullptr, &communicator);
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    for (const FactorSpec& spec : factor_arrays(restricted())) {
      if (space_of(spec.p) != Space::particle) continue;
      const bool alpha = spec.p == OrbitalClass::particle_alpha;
      const std::int64_t v = std::ssize(irreps(spec.p)),
                         o = std::ssize(irreps(alpha ? OrbitalClass::hole_alpha : OrbitalClass::hole_beta));
      const std::int64_t rounds = FactorIrreps::rounds(o, v, ranks);
      EXPECT_EQ(rounds, (v + o * ranks - 1) / (o * ranks));
      EXPECT_EQ(reads_[spec.name], rounds * functions * v * v) << spec.name << " by " << ranks << " ranks";
    }
  }
}

TEST_P(FactorsWithIrreps, AreRefusedByAllRanksIfAnElementIsForbidden) {
  for (const FactorSpec& spec : factor_arrays(restricted())) {
    if (space_of(spec.p) != Space::particle) continue;
    for (std::int64_t p = 0; p < std::ssize(irreps(spec.p)); ++p) {
      const int product = irreps(spec.p)[place(p)] ^ irreps(spec.p)[0];
      const std::int64_t wrong = product == 3 ? 4 : product + 1;  // an auxiliary function of another irrep
      change_vv(spec.name, wrong, p, 0, 0.25);
      for (const int ranks : {1, 2, 3, 5}) {
        const DenseInput all = input();
        const auto held = all.factor_source->acquire_factors(nullptr);
        const auto failures = failures_of_ranks(
            ranks,
            [&](Communicator& communicator) {
              FactorIrreps(all).run(communicator.rank(), ranks, 1, nullptr, &communicator);
            },
            true);
        const std::string place_of_it = "," + std::to_string(p) + ",0] of array '";
        int found_here = 0;
        for (const std::string& failure : failures) {
          EXPECT_NE(failure.find(place_of_it), std::string::npos) << failure;
          found_here += failure.starts_with("Rank ") ? 0 : 1;
        }
        EXPECT_EQ(found_here, 1);
      }
      change_vv(spec.name, wrong, p, 0, 0.0);
    }
  }
}

TEST_P(FactorsWithIrreps, StopInAllRanksIfOneRankStops) {
  const DenseInput all = input();
  const auto held = all.factor_source->acquire_factors(nullptr);
  reads_.clear();
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        const std::atomic<bool> stop{communicator.rank() == 1};
        EXPECT_THROW(FactorIrreps(all).run(communicator.rank(), 3, 1, &stop, &communicator), Interrupted);
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
  EXPECT_TRUE(reads_.empty());
}

TEST_P(FactorsWithIrreps, StopOnRequest) {
  const DenseInput all = input();
  const auto held = all.factor_source->acquire_factors(nullptr);
  reads_.clear();
  const std::atomic<bool> stop{true};
  EXPECT_THROW(FactorIrreps(all).run(0, 1, 1, &stop), Interrupted);
  EXPECT_TRUE(reads_.empty());
}

TEST(FactorIrreps, SlabsTakeNoMoreThanFactorsOfHoles) {
  EXPECT_EQ(FactorIrreps::slab_particles(40, 1000), 40);
  EXPECT_EQ(FactorIrreps::slab_particles(0, 1000), 1);
  EXPECT_EQ(FactorIrreps::slab_particles(9, 5), 5);
}

}
}
