#include "cxx/calculation/calculation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "cxx/base/communicator.hpp"
#include "cxx/base/error.hpp"
#include "cxx/calculation/memory_plan.hpp"
#include "tests/support/arrays_of_molecules.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/copied_derivatives.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;

/// The numbers of a calculation on each of `size` ranks. `assignment`: the role of each rank. `arrays`: ranks share
/// operands.
std::vector<std::vector<double>> results_of_ranks(const std::string& dump, int size,
                                                  const std::function<RankAssignment(int)>& assignment, bool arrays) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(size));
  const auto failures = failures_of_ranks(
      size,
      [&](Communicator& communicator) {
        const auto source = open_dump_of(dump);
        CalculationOptions options = options_for({}, 3);
        options.omega2 = {0.0, 0.1};
        Calculation calculation(*source, nullptr, options);
        calculation.join(communicator, assignment(communicator.rank()));
        results[static_cast<std::size_t>(communicator.rank())] = numbers_of(calculation.run());
      },
      arrays);
  EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(size)));
  return results;
}

/// The number of ranks, and true if they share operands.
class DistributedEnergies : public ::testing::TestWithParam<std::tuple<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Ranks, DistributedEnergies,
                         ::testing::Combine(::testing::Values(1, 2, 3, 7), ::testing::Bool()));

TEST_P(DistributedEnergies, GetsTheBitsOfOneProcess) {
  const auto [size, arrays] = GetParam();
  for (const std::string dump : {"h2o_631g_c2v_rhf_t10", "ch2_631g_c1_uhf_t3"}) {
    const auto source = open_dump_of(dump);
    CalculationOptions options = options_for({}, 3);
    options.omega2 = {0.0, 0.1};
    const std::vector<double> alone = numbers_of(calculate(*source, options));
    for (const auto& result : results_of_ranks(
             dump, size, [](int) { return RankAssignment{}; }, arrays)) {
      EXPECT_EQ(result, alone);
    }
    // The last rank is idle. The ranks between the first and the last are CPU workers.
    const auto roles = [ranks = size](int rank) {
      return RankAssignment{rank == 0 ? Role::worker : rank + 1 == ranks ? Role::idle : Role::cpu_worker, 1.0, 2.0, 1};
    };
    for (const auto& result : results_of_ranks(dump, size, roles, arrays)) EXPECT_EQ(result, alone);
  }
}

/// The parameter is true if the ranks share operands.
class DistributedCalculationOnRanks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Operands, DistributedCalculationOnRanks, ::testing::Bool());

TEST_P(DistributedCalculationOnRanks, FailsOnAllRanksIfOneCannotRead) {
  // The source of rank 1 is damaged.
  const auto failures = failures_of_ranks(
      3,
      [](Communicator& communicator) {
        const DumpCopy copy("h2o_631g_c2v_rhf_t10");
        if (communicator.rank() == 1) {
          auto values = copy.doubles("t2amp");
          std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
          copy.write_doubles("t2amp", values);
        }
        const auto source = copy.open();
        Calculation calculation(*source, nullptr, options_for());
        calculation.join(communicator, {});
        calculation.run();
        ADD_FAILURE() << "a rank went on";
      },
      GetParam());
  EXPECT_NE(failures[0].find("Rank 1 failed: The file"), std::string::npos) << failures[0];
  EXPECT_NE(failures[1].find("not finite"), std::string::npos) << failures[1];
  EXPECT_NE(failures[2].find("Rank 1 failed: The file"), std::string::npos) << failures[2];
}

/// Arrays fail on one rank: when they are made (`panels` -1), or after `panels` panels have been read.
class CommunicatorWithBadArrays final : public Communicator {
 public:
  CommunicatorWithBadArrays(Communicator& sound, int bad_rank, int panels)
      : sound_(sound), bad_(sound.rank() == bad_rank), panels_(panels) {}
  int rank() const override { return sound_.rank(); }
  int size() const override { return sound_.size(); }
  std::int64_t fetch_add(int counter, std::int64_t amount) override { return sound_.fetch_add(counter, amount); }
  void allreduce_sum(std::span<double> values) override { sound_.allreduce_sum(values); }
  bool has_arrays() const override { return true; }
  std::unique_ptr<SharedArray> make_array(std::span<const SharedSegment> segments) override {
    run_collectively(&sound_, [&] {
      if (bad_ && panels_ < 0) throw SystemError("There is no memory for an array.");
    });
    return std::make_unique<BadArray>(sound_.make_array(segments), bad_ ? panels_ : std::numeric_limits<int>::max());
  }

 private:
  struct BadArray final : SharedArray {
    BadArray(std::unique_ptr<SharedArray> other, int panels) : sound(std::move(other)), left(panels) {}
    std::span<double> local(std::size_t segment) override { return sound->local(segment); }
    void sync() override { sound->sync(); }
    void get(std::size_t segment, std::int64_t first, std::span<double> values) override {
      if (left-- <= 0) throw SystemError("The network is gone.");
      sound->get(segment, first, values);
    }
    std::unique_ptr<SharedArray> sound;
    int left;
  };
  Communicator& sound_;
  bool bad_;
  int panels_;
};

TEST(DistributedCalculationWithArrays, FailsOnAllRanksIfArraysFailOnOne) {
  for (const int panels : {-1, 0, 5}) {
    const auto failures = failures_of_ranks(
        3,
        [&](Communicator& sound) {
          CommunicatorWithBadArrays communicator(sound, 2, panels);
          const auto source = open_dump_of("ch2_631g_c1_uhf_t3");
          Calculation calculation(*source, nullptr, options_for({}, 3));
          // The other ranks are idle, so that rank 2 must fetch panels and fails.
          calculation.join(communicator,
                           RankAssignment{communicator.rank() == 2 ? Role::worker : Role::idle, 1.0, 1.0, 1});
          calculation.run();
          ADD_FAILURE() << "a rank went on";
        },
        true);
    const std::string sentence = panels < 0 ? "There is no memory for an array." : "The network is gone.";
    EXPECT_EQ(failures,
              (std::vector<std::string>{"Rank 2 failed: " + sentence, "Rank 2 failed: " + sentence, sentence}));
  }
}

TEST(DistributedDerivatives, AreOnRanksThatWantThem) {
  const ArraysOfMolecule arrays(closed_shell(4, 9), HeldArrays::Layout::c_order);
  CalculationOptions options = options_for({}, 3);
  options.derivatives = Derivatives::all;
  const CalculationResult alone = calculate(arrays.source(), options);
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    CalculationOptions mine = options;
    mine.wants_derivatives = communicator.rank() == 1;
    Calculation calculation(arrays.source(), nullptr, mine);
    calculation.join(communicator, {});
    const CalculationResult result = calculation.run();
    EXPECT_EQ(numbers_of(result), numbers_of(alone));
    ASSERT_EQ(result.derivatives != nullptr, mine.wants_derivatives);
    if (!mine.wants_derivatives) return;
    EXPECT_EQ(arrays_of(*result.derivatives), arrays_of(*alone.derivatives));
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(DistributedCalculationWithArrays, StoresOperandsAsAssigned) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  // One case has more segments than panels.
  for (const int segments : {1, 3, 1000}) {
    const std::vector<OperandShare> shares = {{0.0, 0}, {2.5, segments}, {0.5, 2}, {1.0, 1}};
    const auto failures = failures_of_ranks(
        4,
        [&](Communicator& communicator) {
          Calculation calculation(*source, nullptr, options);
          RankAssignment assignment;
          assignment.operands = shares[static_cast<std::size_t>(communicator.rank())];
          calculation.join(communicator, assignment);
          const CalculationResult result = calculation.run();
          EXPECT_EQ(numbers_of(result), alone);
          std::int64_t all = 0;
          for (std::size_t rank = 0; rank < shares.size(); ++rank) {
            const auto expected = static_cast<double>(calculation.memory().operands) * shares[rank].share / 4.0;
            const std::int64_t own = result.traffic[rank].own_bytes;
            EXPECT_NEAR(static_cast<double>(own), expected, 0.1 * expected) << "rank " << rank;
            EXPECT_GT(result.traffic[rank].fetched_bytes, 0);
            all += own;
          }
          EXPECT_EQ(result.traffic[0].own_bytes, 0);
          EXPECT_EQ(all, calculation.memory().operands);
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(4));
  }
}

TEST(DistributedCalculationWithArrays, UsesNoMoreMemoryThanItMay) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  const Calculation planned(*source, nullptr, options);
  const std::int64_t working = planned.memory().working(), operands = planned.memory().operands;
  for (const std::int64_t memory : {operands + 2 * working, operands / 3 + 2 * working}) {
    const auto failures = failures_of_ranks(
        4,
        [&](Communicator& communicator) {
          CalculationOptions mine = options;
          mine.memory = memory;
          Calculation calculation(*source, nullptr, mine);
          calculation.join(communicator, {});
          const CalculationResult result = calculation.run();
          EXPECT_EQ(numbers_of(result), alone);
          ASSERT_EQ(result.traffic.size(), 4u);
          for (const OperandTraffic& rank : result.traffic) {
            EXPECT_GT(rank.fetched_bytes, 0);
            EXPECT_LE(rank.own_bytes, calculation.memory().owned);
            EXPECT_LE(rank.own_bytes + rank.cache_bytes + calculation.memory().scratch(), memory);
            if (memory < operands) continue;
            EXPECT_LE(rank.fetched_bytes, rank.bytes_of_others);
          }
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(4));
  }
}

TEST(DistributedCalculationWithArrays, WorksWithTheLeastMemory) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        Calculation calculation(*source, nullptr, options);
        RankAssignment assignment{communicator.rank() == 2 ? Role::idle : Role::worker, 1.0, 2.0, 1};
        assignment.memory = std::ceil(static_cast<double>(calculation.memory().operands) / 3.0);
        if (assignment.role == Role::worker) assignment.memory += static_cast<double>(calculation.memory().working());
        calculation.join(communicator, assignment);
        const CalculationResult result = calculation.run();
        EXPECT_EQ(numbers_of(result), alone);
        EXPECT_EQ(result.traffic.at(2).fetched_bytes, 0);
        EXPECT_GT(result.traffic.at(2).own_bytes, calculation.memory().operands / 4);
      },
      true);
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(DistributedCalculationWithArrays, IsRefusedIfThePartOfARankDoesNotFit) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const auto failures = failures_of_ranks(
      4,
      [&](Communicator& communicator) {
        CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
        const Calculation planned(*source, nullptr, options);
        if (communicator.rank() == 1) options.memory = planned.memory().working() + planned.memory().operands / 8;
        Calculation calculation(*source, nullptr, options);
        run_collectively(&communicator, [&] { calculation.join(communicator, {}); });
      },
      true);
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find("This rank, one of 4, stores up to"), std::string::npos) << failure;
    EXPECT_NE(failure.find("--memory allows"), std::string::npos) << failure;
  }
}

}
}
