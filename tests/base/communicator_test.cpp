#include "cxx/base/communicator.hpp"

#include <gtest/gtest.h>

#include "cxx/base/error.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

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

/// Expects that all ranks throw `Failure` if one rank throws it.
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

}
}
