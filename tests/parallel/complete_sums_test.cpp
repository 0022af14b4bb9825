#include "cxx/plan/complete_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cxx/base/share_among_threads.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse {
namespace {

class CompleteSumsOnTheHost : public ::testing::Test {
 protected:
  CompleteSumsOnTheHost() : numbers(1000), sums(numbers_at_random()) {}

  ZeroedVector<std::int64_t> numbers;
  const HostSums sums;

 private:
  const ZeroedVector<std::int64_t>& numbers_at_random() {
    std::mt19937_64 random(1);
    for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random() >> 2);
    return numbers;
  }
};

// The values of a matrix and of its transposed matrix, which begins at another element.
TEST_F(CompleteSumsOnTheHost, AreAddedUpByPieces) {
  constexpr std::int64_t rows = 7, columns = 5;
  const std::vector<CompleteSums::Piece> pieces = {
      {10, 2, {1, 1, rows, columns}, {0, 0, columns, 1}, {0, 0, columns, 1}, 1.0},
      {500, 2, {1, 1, rows, columns}, {0, 0, 1, rows}, {0, 0, columns, 1}, -1.0}};
  std::vector<double> expected(40, 0.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double& value = expected[static_cast<std::size_t>(2 + r * columns + c)];
      value += static_cast<double>(numbers[static_cast<std::size_t>(10 + r * columns + c)]);
      value -= static_cast<double>(numbers[static_cast<std::size_t>(500 + c * rows + r)]);
    }
  }
  // The memory of one call serves the next one.
  for (int call = 0; call < 2; ++call) {
    sums.read(pieces, expected.size(), [&](std::span<const double> values) {
      EXPECT_EQ(std::vector<double>(values.begin(), values.end()), expected);
    });
  }
  sums.read({}, 3, [](std::span<const double> values) {
    EXPECT_EQ(std::vector<double>(values.begin(), values.end()), std::vector<double>(3, 0.0));
  });
}

TEST_F(CompleteSumsOnTheHost, AreReadBySeveralThreadsAndPassOnExceptions) {
  share_in_turns(numbers.size(), 4, [&](std::size_t n) {
    const CompleteSums::Piece one[] = {{static_cast<std::int64_t>(n), 0, {1, 1, 1, 1}, {}, {}, 1.0}};
    sums.read(one, 1, [&](std::span<const double> of_outer) {
      const double outer = of_outer[0];
      // A call inside of another one has memory of its own.
      sums.read(one, 1, [&](std::span<const double> of_inner) { ASSERT_EQ(of_inner[0], outer); });
      ASSERT_EQ(of_outer[0], static_cast<double>(numbers[n]));
    });
  });
  EXPECT_THROW(sums.read({}, 1, [](std::span<const double>) { throw std::runtime_error("of the caller"); }),
               std::runtime_error);
}

using testing::MadeUpExecutor;

/// A run of three ranks.
class SumsOfRanks : public ::testing::Test {
 protected:
  static constexpr std::size_t size = (std::size_t{1} << 20) + 5;  // more than one part is added up at once
  std::unique_ptr<TileSource> source = make_synthetic_source(testing::closed_shell(3, 4));
  Plan plan = make_plan(source->tiles(), SpinFormulation::spin_orbital);

  /// Runs with the first sums of rank n as of[n] says. Returns the failures. `then` gets the outcome of each rank.
  std::vector<std::string> run(const std::array<MadeUpExecutor::FirstArray, 3>& of,
                               const std::function<void(std::size_t, const RunOutcome&)>& then) {
    return testing::failures_of_ranks(3, [&](Communicator& communicator) {
      const auto rank = static_cast<std::size_t>(communicator.rank());
      MadeUpExecutor executor([](const Task&) { return TaskEnergy{}; });
      executor.keep_sums(of[rank]);
      then(rank, run_tasks(plan, executor, {1, {{"large", size}, {"small", 3}}}, {.communicator = &communicator}));
    });
  }
};

using enum MadeUpExecutor::FirstArray;

TEST_F(SumsOfRanks, AreAddedUpWhereTheyAre) {
  const auto failures = run({stays, moves, stays}, [&](std::size_t rank, const RunOutcome& outcome) {
    EXPECT_EQ(outcome.sums[1], MadeUpExecutor::sum_of(plan, 3));
    ASSERT_EQ(outcome.first_array != nullptr, rank != 1);
    const ZeroedVector<std::int64_t> expected = MadeUpExecutor::sum_of(plan, size);
    if (outcome.first_array == nullptr) {
      EXPECT_TRUE(outcome.sums[0] == expected);
      return;
    }
    EXPECT_TRUE(outcome.sums[0].empty());
    std::vector<std::int64_t> found(size);
    outcome.first_array->get(0, found);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST_F(SumsOfRanks, FailOnAllRanksIfThoseOfOneAreLost) {
  const auto failures =
      run({moves, is_lost, stays}, [](std::size_t, const RunOutcome&) { FAIL() << "a rank has ended"; });
  for (const std::string& failure : failures) EXPECT_NE(failure.find("The sums are lost."), std::string::npos);
}

}
}
