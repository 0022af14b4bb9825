#include "tce_tiles/factors/slabs_of_ranks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

constexpr std::int64_t particle_count = 7;

/// Made-up factors of alpha and beta particles, which come in bands of up to three auxiliary functions.
class MadeUpFactors final : public FactorSource {
 public:
  explicit MadeUpFactors(std::int64_t auxiliary) : auxiliary_(auxiliary), reads_(static_cast<std::size_t>(auxiliary)) {}

  static double factor(OrbitalClass c, std::int64_t q, std::int64_t x, std::int64_t y) {
    return (c == OrbitalClass::particle_alpha ? 1.0 : -1.0) * static_cast<double>(1 + q * 100 + x * 10 + y);
  }
  std::int64_t auxiliary() const override { return auxiliary_; }
  void read_oo(const ClassOrbitals&, const ClassOrbitals&, std::span<double>) const override {
    ADD_FAILURE() << "no factors of two holes are needed";
  }
  void read_ov(const ClassOrbitals&, const ClassOrbitals&, std::span<double>) const override {
    ADD_FAILURE() << "no factors of holes are needed";
  }
  void visit_vv(OrbitalClass c, std::int64_t begin, std::int64_t end, int, const FactorVisitor& visit) const override {
    for (std::int64_t q = begin; q < end; q += 3) {
      const std::int64_t count = std::min<std::int64_t>(3, end - q);
      std::vector<double> planes;
      for (std::int64_t k = 0; k < count; ++k) {
        ++reads_[static_cast<std::size_t>(q + k)];
        if (q + k == failing) throw InputError("function " + std::to_string(failing) + " is not valid");
        for (std::int64_t x = 0; x < particle_count; ++x) {
          for (std::int64_t y = 0; y < particle_count; ++y) planes.push_back(factor(c, q + k, x, y));
        }
      }
      visit({q, count, particle_count, planes.data()});
    }
  }
  /// How often each auxiliary function was read.
  const std::vector<std::atomic<int>>& reads() const { return reads_; }
  std::int64_t failing = -1;  ///< number of a function that cannot be read

 private:
  std::int64_t auxiliary_;
  mutable std::vector<std::atomic<int>> reads_;
};

/// The slabs of both spins, with tiles of 3 and 4 particles. Their owners take turns, from rank `first` on.
struct Slabs {
  std::vector<std::vector<double>> values;
  std::vector<SlabOfRank> of_ranks;

  Slabs(std::int64_t auxiliary, int rank, int owners, int first) {
    int n = 0;
    for (const OrbitalClass c : {OrbitalClass::particle_alpha, OrbitalClass::particle_beta}) {
      for (const auto& [p_begin, p_count] : {std::pair(0, 3), std::pair(3, 4)}) {
        for (const auto& [d_begin, d_count] : {std::pair(0, 5), std::pair(5, 2), std::pair(7, 0)}) {
          const int owner = first + n++ % owners;
          of_ranks.push_back({owner, {{c, p_begin, p_count}, {c, d_begin, d_count}, {}}});
          if (owner != rank) continue;
          values.emplace_back(static_cast<std::size_t>(p_count * auxiliary * d_count),
                              std::numeric_limits<double>::quiet_NaN());
          of_ranks.back().slab.values = values.back();
        }
      }
    }
  }
  void expect_filled(std::int64_t auxiliary, int rank) const {
    for (const auto& [owner, slab] : of_ranks) {
      if (owner != rank) continue;
      std::size_t n = 0;
      for (std::int64_t x = 0; x < slab.p.count; ++x) {
        for (std::int64_t q = 0; q < auxiliary; ++q) {
          for (std::int64_t y = 0; y < slab.d.count; ++y) {
            ASSERT_EQ(slab.values[n++],
                      MadeUpFactors::factor(slab.p.orbital_class, q, slab.p.begin + x, slab.d.begin + y));
          }
        }
      }
    }
  }
};

std::int64_t part_of(std::int64_t auxiliary, int rank, int ranks) {
  return auxiliary * (rank + 1) / ranks - auxiliary * rank / ranks;
}

TEST(SlabsOfRanks, EachRankReadsItsPartAndAllSlabsAreFilled) {
  constexpr std::int64_t plane = particle_count * particle_count * static_cast<std::int64_t>(sizeof(double));
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::int64_t auxiliary : {1, 4, 17, 40}) {
      for (const std::int64_t buffer : {std::int64_t{0}, 2 * plane + 1, 1000 * plane}) {
        // All ranks own slabs, or only the last one.
        for (const int owners : {ranks, 1}) {
          SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(auxiliary) + " functions, buffer " +
                       std::to_string(buffer) + ", owners " + std::to_string(owners));
          const MadeUpFactors source(auxiliary);
          const auto failures = failures_of_ranks(
              ranks,
              [&](Communicator& communicator) {
                const int rank = communicator.rank();
                // The smallest buffer counts.
                const std::int64_t mine = rank == 0 ? buffer : 2 * buffer;
                const Slabs slabs(auxiliary, rank, owners, ranks - owners);
                const std::int64_t bytes = read_slabs_of_ranks(&communicator, source, slabs.of_ranks, {1, mine});
                EXPECT_EQ(bytes, 2 * plane * part_of(auxiliary, rank, ranks));
                slabs.expect_filled(auxiliary, rank);
              },
              true);
          EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
          for (const auto& reads : source.reads()) EXPECT_EQ(reads, 2) << "once for each spin";
        }
      }
    }
  }
}

TEST(SlabsOfRanks, MayBelongToOneProcess) {
  const MadeUpFactors source(11);
  const Slabs slabs(11, 0, 1, 0);
  read_slabs_of_ranks(nullptr, source, slabs.of_ranks, {1, 0});
  slabs.expect_filled(11, 0);
}

TEST(SlabsOfRanks, FailOnAllRanksIfOneCannotRead) {
  for (const std::int64_t failing : {0, 9, 19}) {
    const int culprit = static_cast<int>(failing * 2 / 20);
    const auto failures = failures_of_ranks(
        2,
        [&](Communicator& communicator) {
          MadeUpFactors source(20);
          source.failing = failing;
          const Slabs slabs(20, communicator.rank(), 2, 0);
          read_slabs_of_ranks(&communicator, source, slabs.of_ranks, {1, 0});
        },
        true);
    const std::string sentence = "function " + std::to_string(failing) + " is not valid";
    std::vector<std::string> expected(2, "Rank " + std::to_string(culprit) + " failed: " + sentence);
    expected[static_cast<std::size_t>(culprit)] = sentence;
    EXPECT_EQ(failures, expected);
  }
}

}
}
