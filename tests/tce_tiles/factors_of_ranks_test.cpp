#include "tce_tiles/factors/factors_of_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/factors/factor_arrays.hpp"
#include "tce_tiles/factors/factor_rows.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tce_tiles/tiles/interruptible_source.hpp"
#include "tests/support/thread_communicator.hpp"

/// Factors of holes, of which each rank of a job reads a part.
namespace trifuse {
namespace {

using namespace trifuse::testing;

constexpr std::int64_t hole_count = 3, particle_count = 5;

std::size_t index_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Element [q,x,y] of factors; symmetric in x and y. Some elements are -0.
double element(std::int64_t q, std::int64_t x, std::int64_t y) {
  return (q + x + y) % 3 == 0 ? -0.0 : std::sin(static_cast<double>(100 * q + x + y + x * y));
}

/// The input of one rank. Counts how often each auxiliary function of each array is read.
class Input {
 public:
  explicit Input(std::int64_t auxiliary) : ov_reads(index_of(auxiliary)), oo_reads(index_of(auxiliary)) {
    const auto array = [&](const char* name, std::vector<std::int64_t> shape, std::vector<int>* reads) {
      CallerArray described;
      described.name = name;
      described.shape = std::move(shape);
      described.reader = [this, reads](auto offset, auto count, std::span<double> box) {
        std::size_t n = 0;
        for (std::int64_t q = offset[0]; q < offset[0] + count[0]; ++q) {
          if (reads != nullptr) ++(*reads)[index_of(q)];
          for (std::int64_t x = 0; x < count[1]; ++x) {
            for (std::int64_t y = 0; y < count[2]; ++y) box[n++] = element(q, x, y);
          }
        }
        if (after_read) after_read();
      };
      return described;
    };
    input_.header.energies = {std::vector(index_of(hole_count), -1.0), std::vector(index_of(hole_count), -1.0),
                              std::vector(index_of(particle_count), 1.0), std::vector(index_of(particle_count), 1.0)};
    input_.arrays = std::make_shared<CallerArrays>(
        "caller", std::vector{array("factors_oo", {auxiliary, hole_count, hole_count}, &oo_reads),
                              array("factors_ov", {auxiliary, hole_count, particle_count}, &ov_reads),
                              array("factors_vv", {auxiliary, particle_count, particle_count}, nullptr)});
    use_factors(input_);
  }

  const FactorSource& factors() const { return *input_.factor_source; }

  std::vector<int> ov_reads, oo_reads;
  std::function<void()> after_read = nullptr;

 private:
  DenseInput input_;
};

/// Expects that the bits of all factors of holes are right.
void expect_right(const FactorSource& factors) {
  const std::int64_t auxiliary = factors.auxiliary();
  const auto expect = [&](const std::vector<double>& found, std::int64_t columns) {
    for (std::size_t n = 0; n < found.size(); ++n) {
      const auto k = static_cast<std::int64_t>(n);
      const double wanted = element(k % auxiliary, k / auxiliary / columns, k / auxiliary % columns);
      ASSERT_EQ(found[n], wanted);
      ASSERT_EQ(std::signbit(found[n]), std::signbit(wanted));
    }
  };
  const ClassOrbitals o{OrbitalClass::hole_alpha, 0, hole_count}, v{OrbitalClass::particle_alpha, 0, particle_count};
  std::vector<double> oo(index_of(hole_count * hole_count * auxiliary)),
      ov(index_of(hole_count * particle_count * auxiliary));
  factors.read_oo(o, o, oo);
  expect(oo, hole_count);
  factors.read_ov(o, v, ov);
  expect(ov, particle_count);
}

/// 1 for each function of a rank, else 0.
std::vector<int> part_of(std::int64_t auxiliary, const Communicator& communicator) {
  std::vector<int> part(index_of(auxiliary), 0);
  const std::int64_t rank = communicator.rank(), size = communicator.size();
  for (std::int64_t q = auxiliary * rank / size; q < auxiliary * (rank + 1) / size; ++q) part[index_of(q)] = 1;
  return part;
}

TEST(FactorsOfHoles, AreReadOnceByAllRanksTogether) {
  for (const int ranks : {1, 2, 3, 5}) {
    // More and fewer functions than ranks.
    for (const std::int64_t auxiliary : {1, 4, 7, 200}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(auxiliary) + " functions");
      const auto failures = failures_of_ranks(
          ranks,
          [&](Communicator& communicator) {
            const Input input(auxiliary);
            auto held = acquire_factors_of_ranks(&input.factors(), &communicator, nullptr);
            expect_right(input.factors());
            EXPECT_EQ(input.oo_reads, part_of(auxiliary, communicator));
            EXPECT_EQ(input.ov_reads, part_of(auxiliary, communicator));
            // They are in memory now.
            const auto also_held = acquire_factors_of_ranks(&input.factors(), &communicator, nullptr);
            held = input.factors().acquire_factors(nullptr);
            EXPECT_EQ(input.oo_reads, part_of(auxiliary, communicator));
            EXPECT_EQ(input.ov_reads, part_of(auxiliary, communicator));
          },
          true);
      EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    }
  }
}

TEST(FactorsOfHoles, AreExchangedInRoundsIfTheBufferIsSmall) {
  constexpr std::int64_t auxiliary = 23, plane = hole_count * particle_count;
  for (const std::int64_t functions : {0, 1, 3}) {
    const auto failures = failures_of_ranks(
        3,
        [&](Communicator& communicator) {
          std::vector<double> values;
          for (std::int64_t n = 0; n < auxiliary * plane; ++n) {
            values.push_back(element(n / plane, n % plane / particle_count, n % particle_count));
          }
          CallerArray described;
          described.name = "factors_ov";
          described.shape = {auxiliary, hole_count, particle_count};
          described.data = values.data();
          const CallerArrays arrays("caller", {described});
          const FactorBands bands(arrays.array("factors_ov"), hole_count, particle_count, false);
          const auto bytes = functions * plane * static_cast<std::int64_t>(sizeof(double));
          const FactorRows together(bands, communicator, bytes, nullptr), alone(bands, nullptr);
          const ClassOrbitals o{OrbitalClass::hole_alpha, 0, hole_count},
              v{OrbitalClass::particle_alpha, 0, particle_count};
          std::vector<double> found(values.size()), wanted(values.size());
          together.copy(o, v, found);
          alone.copy(o, v, wanted);
          EXPECT_EQ(found, wanted);
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

TEST(FactorsOfHoles, AreReadByAllRanksIfOneHasThemAlready) {
  const auto failures = failures_of_ranks(
      3,
      [](Communicator& communicator) {
        const Input input(7);
        std::shared_ptr<const void> held;
        if (communicator.rank() == 1) held = input.factors().acquire_factors(nullptr);
        const auto all_held = acquire_factors_of_ranks(&input.factors(), &communicator, nullptr);
        expect_right(input.factors());
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(FactorsOfHoles, AreReadByEachRankWithoutSharedArrays) {
  const std::vector<int> once(7, 1);
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const Input input(7);
    const auto held = acquire_factors_of_ranks(&input.factors(), &communicator, nullptr);
    EXPECT_EQ(input.oo_reads, once);
    EXPECT_EQ(input.ov_reads, once);
    EXPECT_EQ(acquire_factors_of_ranks(nullptr, &communicator, nullptr), nullptr);
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
  const Input alone(7);
  const auto held = acquire_factors_of_ranks(&alone.factors(), nullptr, nullptr);
  EXPECT_EQ(alone.ov_reads, once);
}

TEST(FactorsOfHoles, LeaveAllRanksIfOneRankStops) {
  constexpr std::int64_t auxiliary = 900;
  // A request before the reading, and one during it.
  for (const bool before : {true, false}) {
    const auto failures = failures_of_ranks(
        3,
        [&](Communicator& communicator) {
          std::atomic<bool> stop{before && communicator.rank() == 1};
          Input input(auxiliary);
          input.after_read = [&] { stop = stop || communicator.rank() == 1; };
          const InterruptibleFactors factors(&input.factors(), stop);
          EXPECT_THROW(acquire_factors_of_ranks(&factors, &communicator, nullptr), Interrupted);
          const auto read = std::count(input.oo_reads.begin(), input.oo_reads.end(), 1);
          EXPECT_LT(read, before ? 1 : auxiliary / 2);
          EXPECT_EQ(input.ov_reads, std::vector<int>(index_of(auxiliary), 0)) << "the second array is not begun";
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

}
}
