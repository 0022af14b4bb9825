#include "cxx/base/communicator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>

#include "cxx/base/error.hpp"
#include "cxx/calculation/context.hpp"
#include "cxx/parallel/run_tasks.hpp"
#include "tests/support/calculations.hpp"
#include "tests/support/made_up_executor.hpp"
#include "tests/support/molecules.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

namespace trifuse::testing {
namespace {

using Role = RankAssignment::Role;

TEST(Communicator, GathersNumbersAndTexts) {
  const auto failures = failures_of_ranks(3, [](Communicator& communicator) {
    const double row[] = {1.0 + communicator.rank(), 10.0};
    EXPECT_EQ(allgather(communicator, row), (std::vector<double>{1, 10, 2, 10, 3, 10}));
    const std::vector<std::string> texts = allgather(communicator, communicator.rank() == 1 ? "" : "rank \xc3\xa4", 6);
    EXPECT_EQ(texts, (std::vector<std::string>{"rank \xc3", "", "rank \xc3"}));
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

TEST(Communicator, FailsTogether) {
  const auto failures = failures_of_ranks(4, [](Communicator& communicator) {
    run_collectively(&communicator, [] {});
    run_collectively(&communicator, [&] {
      if (communicator.rank() % 2 == 1)
        throw InputError("The file " + std::to_string(communicator.rank()) + " is gone.");
    });
    ADD_FAILURE() << "a rank went on";
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 1 failed: The file 1 is gone.", "The file 1 is gone.",
                                                "Rank 1 failed: The file 1 is gone.", "The file 3 is gone."}));
}

TEST(Communicator, RefusesToComputeDifferentThings) {
  const auto failures = failures_of_ranks(3, [](Communicator& communicator) {
    std::vector<double> numbers = {-76.0, 1e12};
    numbers[1] *= 1.0 + 1e-15 * communicator.rank();
    expect_same(communicator, numbers);
    if (communicator.rank() == 2) numbers[0] += 1e-6;
    expect_failure<InputError>([&] { expect_same(communicator, numbers); },
                               "Ranks 0 and 2 have different calculations");
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
}

/// What the other ranks throw where one throws `Failure`.
template <typename Failure>
void expect_same_kind() {
  failures_of_ranks(2, [](Communicator& communicator) {
    const auto fail = [&] {
      run_collectively(&communicator, [&] {
        if (communicator.rank() == 1) throw Failure("It cannot be.");
      });
    };
    expect_failure<Failure>(fail, "It cannot be.");
  });
}

TEST(Communicator, FailsForTheSameKindOfReason) {
  expect_same_kind<InputError>();
  expect_same_kind<UsageError>();
  expect_same_kind<SystemError>();
  expect_same_kind<Interrupted>();
}

/// The numbers of a calculation on each of `size` ranks, whose parts `share` tells. With `arrays` they share operands.
std::vector<std::vector<double>> results_of_ranks(const std::string& dump, int size,
                                                  const std::function<RankAssignment(int)>& assignment, bool arrays) {
  std::vector<std::vector<double>> results(static_cast<std::size_t>(size));
  const auto failures = failures_of_ranks(
      size,
      [&](Communicator& communicator) {
        const auto source = open_dump_of(dump);
        CalculationOptions options = options_for({}, 3);
        options.omega2 = {0.0, 0.1};
        CalculationContext calculation(*source, nullptr, options);
        calculation.join(communicator, assignment(communicator.rank()));
        results[static_cast<std::size_t>(communicator.rank())] = numbers_of(calculation.run());
      },
      arrays);
  EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(size)));
  return results;
}

/// So many ranks, and whether they share operands.
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
    // The last one waits, and those before it help.
    const auto roles = [ranks = size](int rank) {
      return RankAssignment{rank == 0 ? Role::worker : rank + 1 == ranks ? Role::idle : Role::cpu_worker, 1.0, 2.0, 1};
    };
    for (const auto& result : results_of_ranks(dump, size, roles, arrays)) EXPECT_EQ(result, alone);
  }
}

class DistributedTasks : public ::testing::Test {
 protected:
  std::unique_ptr<TileSource> source = make_synthetic_source(closed_shell(5, 8, 2));
  Plan plan = make_plan(source->tiles().retiled(2, 2), SpinFormulation::spin_orbital);

  RunOutcome run(Communicator& communicator, const Executor* executor, RankAssignment assignment = {},
                 int threads = 2) const {
    RunSettings settings;
    settings.threads = threads;
    settings.communicator = &communicator;
    settings.assignment = assignment;
    return run_tasks(plan, executor, 1, settings);
  }
};

TEST_F(DistributedTasks, ExecutesEveryTaskOnceAndAddsUpOperations) {
  std::atomic<std::size_t> calls{0};
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    const auto action = [&](const Task& task) {
      ++calls;
      return TaskEnergy{1.0 * task.particles[0], 2.0, 3.0, 4.0};
    };
    const MadeUpExecutor executor(action, {.of_worker = 1.0, .of_task = 0.0});
    const RunOutcome outcome = run(communicator, &executor);
    ASSERT_EQ(outcome.energies.size(), plan.tasks.size());
    for (std::size_t n = 0; n < plan.tasks.size(); ++n) {
      EXPECT_EQ(outcome.energies[n].e_bracket_t_same, plan.tasks[n].particles[0]);
      EXPECT_EQ(outcome.energies[n].e_paren_t_mixed, 4.0);
    }
    EXPECT_EQ(outcome.operations, 6.0);  // of two workers on three ranks
  });
  EXPECT_EQ(failures, std::vector<std::string>(3));
  EXPECT_EQ(calls, plan.tasks.size());
}

TEST_F(DistributedTasks, EndsOnAllRanksWhereOneFails) {
  const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
    const MadeUpExecutor executor([&](const Task&) -> TaskEnergy {
      if (communicator.rank() == 2) throw SystemError("GPU 0 fell off the bus.");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    });
    run(communicator, &executor);
  });
  EXPECT_EQ(failures, (std::vector<std::string>{"Rank 2 failed: GPU 0 fell off the bus.",
                                                "Rank 2 failed: GPU 0 fell off the bus.", "GPU 0 fell off the bus."}));
}

TEST_F(DistributedTasks, ReportsTheProgressOfAllRanks) {
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const MadeUpExecutor executor([](const Task&) { return TaskEnergy{}; });
    RunProgress last{};
    RunSettings settings;
    settings.communicator = &communicator;
    settings.progress = [&](const RunProgress& now) {
      EXPECT_GE(now.tasks_done, last.tasks_done);
      EXPECT_GE(now.operations_done, last.operations_done);
      last = now;
    };
    if (communicator.rank() == 0) run_tasks(plan, &executor, 1, settings);
    // The other one only waits, so rank 0 was given everything, and before its last chunk the rest.
    if (communicator.rank() == 1) return static_cast<void>(run(communicator, nullptr, {.role = Role::idle}));
    EXPECT_EQ(last.tasks, plan.tasks.size());
    EXPECT_GT(last.tasks_done, plan.tasks.size() / 2);
    EXPECT_LT(last.tasks_done, plan.tasks.size());
    EXPECT_GT(last.operations_done, 0.5 * plan.total_operations);
    EXPECT_LT(last.operations_done, plan.total_operations);
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

TEST_F(DistributedTasks, SaysSoWhereNobodyWorks) {
  const auto failures =
      failures_of_ranks(2, [&](Communicator& communicator) { run(communicator, nullptr, {.role = Role::idle}); });
  for (const std::string& failure : failures) EXPECT_NE(failure.find("computed 0 of"), std::string::npos) << failure;
}

TEST_F(DistributedTasks, StopsOnAllRanksWhenOneIsAskedTo) {
  const std::atomic<bool> stop{true};
  const auto failures = failures_of_ranks(2, [&](Communicator& communicator) {
    const MadeUpExecutor executor([](const Task&) { return TaskEnergy{}; });
    RunSettings settings;
    settings.communicator = &communicator;
    if (communicator.rank() == 0) settings.stop = &stop;
    run_tasks(plan, executor, 1, settings);
  });
  EXPECT_NE(failures[0].find("Stopped before all "), std::string::npos) << failures[0];
  EXPECT_NE(failures[1].find("Rank 0 failed: Stopped before"), std::string::npos) << failures[1];
}

/// Whether the ranks share operands.
class DistributedCalculationOnRanks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Operands, DistributedCalculationOnRanks, ::testing::Bool());

TEST_P(DistributedCalculationOnRanks, FailsTogetherWhereARankCannotRead) {
  /// A source that breaks on one rank.
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
        CalculationContext calculation(*source, nullptr, options_for());
        calculation.join(communicator, {});
        calculation.run();
        ADD_FAILURE() << "a rank went on";
      },
      GetParam());
  EXPECT_NE(failures[0].find("Rank 1 failed: The file"), std::string::npos) << failures[0];
  EXPECT_NE(failures[1].find("not finite"), std::string::npos) << failures[1];
  EXPECT_NE(failures[2].find("Rank 1 failed: The file"), std::string::npos) << failures[2];
}

/// Ranks whose arrays fail on one rank: where they are made, or after so many panels have been read.
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

TEST(DistributedCalculationWithArrays, FailsTogetherWhereTheyFail) {
  for (const int panels : {-1, 0, 5}) {
    const auto failures = failures_of_ranks(
        3,
        [&](Communicator& sound) {
          CommunicatorWithBadArrays communicator(sound, 2, panels);
          const auto source = open_dump_of("ch2_631g_c1_uhf_t3");
          CalculationContext calculation(*source, nullptr, options_for({}, 3));
          // The others wait, so that there is something to fetch for the one that fails.
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

TEST(DistributedCalculationWithArrays, HasOperandsWhereItIsToldTo) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  // More segments than panels, too.
  for (const int segments : {1, 3, 1000}) {
    const std::vector<OperandShare> shares = {{0.0, 0}, {2.5, segments}, {0.5, 2}, {1.0, 1}};
    const auto failures = failures_of_ranks(
        4,
        [&](Communicator& communicator) {
          CalculationContext calculation(*source, nullptr, options);
          RankAssignment assignment;
          assignment.operands = shares[static_cast<std::size_t>(communicator.rank())];
          calculation.join(communicator, assignment);
          const CalculationResult result = calculation.run();
          EXPECT_EQ(numbers_of(result), alone);
          std::int64_t all = 0;
          for (std::size_t rank = 0; rank < shares.size(); ++rank) {
            const auto expected = static_cast<double>(calculation.operand_bytes()) * shares[rank].share / 4.0;
            const std::int64_t own = result.traffic[rank].own_bytes;
            EXPECT_NEAR(static_cast<double>(own), expected, 0.1 * expected) << "rank " << rank;
            EXPECT_GT(result.traffic[rank].fetched_bytes, 0);
            all += own;
          }
          EXPECT_EQ(result.traffic[0].own_bytes, 0);
          EXPECT_EQ(all, calculation.operand_bytes());
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(4));
  }
}

TEST(DistributedCalculationWithArrays, UsesNoMoreMemoryThanItMay) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  const CalculationContext planned(*source, nullptr, options);
  const std::int64_t working = planned.working_bytes(), operands = planned.operand_bytes();
  for (const std::int64_t memory : {operands + 2 * working, operands / 3 + 2 * working}) {
    const auto failures = failures_of_ranks(
        4,
        [&](Communicator& communicator) {
          CalculationOptions mine = options;
          mine.memory = memory;
          CalculationContext calculation(*source, nullptr, mine);
          calculation.join(communicator, {});
          const CalculationResult result = calculation.run();
          EXPECT_EQ(numbers_of(result), alone);
          ASSERT_EQ(result.traffic.size(), 4u);
          for (const OperandTraffic& rank : result.traffic) {
            EXPECT_GT(rank.fetched_bytes, 0);
            EXPECT_LE(rank.own_bytes, calculation.owned_bytes());
            EXPECT_LE(rank.own_bytes + rank.cache_bytes + calculation.scratch_bytes(), memory);
            if (memory < operands) continue;
            EXPECT_LE(rank.fetched_bytes, rank.bytes_of_others);
          }
        },
        true);
    EXPECT_EQ(failures, std::vector<std::string>(4));
  }
}

TEST(DistributedCalculationWithArrays, IsContentWithTheLeastThatItIsGiven) {
  const auto source = make_synthetic_source(closed_shell(8, 24));
  const CalculationOptions options = options_for(SpinFormulation::spin_orbital, 4);
  const std::vector<double> alone = numbers_of(calculate(*source, options));
  const auto failures = failures_of_ranks(
      3,
      [&](Communicator& communicator) {
        CalculationContext calculation(*source, nullptr, options);
        RankAssignment assignment{communicator.rank() == 2 ? Role::idle : Role::worker, 1.0, 2.0, 1};
        assignment.memory = std::ceil(static_cast<double>(calculation.operand_bytes()) / 3.0);
        if (assignment.role == Role::worker) assignment.memory += static_cast<double>(calculation.working_bytes());
        calculation.join(communicator, assignment);
        const CalculationResult result = calculation.run();
        EXPECT_EQ(numbers_of(result), alone);
        EXPECT_EQ(result.traffic.at(2).fetched_bytes, 0);
        EXPECT_GT(result.traffic.at(2).own_bytes, calculation.operand_bytes() / 4);
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
        const CalculationContext planned(*source, nullptr, options);
        if (communicator.rank() == 1) options.memory = planned.working_bytes() + planned.operand_bytes() / 8;
        CalculationContext calculation(*source, nullptr, options);
        run_collectively(&communicator, [&] { calculation.join(communicator, {}); });
      },
      true);
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find("This rank, one of 4, stores up to"), std::string::npos) << failure;
    EXPECT_NE(failure.find("--memory allows"), std::string::npos) << failure;
  }
}

}  // namespace
}  // namespace trifuse::testing
