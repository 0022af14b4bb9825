#include "cxx/moments/shared_contractions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/contraction/workplace.hpp"
#include "cxx/moments/tensors.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::moments {
namespace {

using testing::failures_of_ranks;

std::vector<double> random_numbers(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> number;
  std::vector<double> numbers(size);
  for (double& x : numbers) x = number(random);
  return numbers;
}

/// Adds up some terms with various longest indices: the first, the last, one of B alone, none.
std::vector<double> some_terms(const Contract& contract) {
  const Terms terms(contract, 1);
  const std::vector<double> a = random_numbers(3 * 7 * 4, 1), b = random_numbers(7 * 4 * 5 * 2, 2);
  std::vector<double> all = random_numbers(3 * 5 * 2 + 4 * 4 + 1, 3);
  terms.add({all.data(), {3, 5, 2}}, "ike,kepq->ipq", 0.5, {a.data(), {3, 7, 4}}, {b.data(), {7, 4, 5, 2}});
  terms.add({all.data() + 30, {4, 4}}, "ike,ikf->ef", -1.0, {a.data(), {3, 7, 4}}, {a.data(), {3, 7, 4}});
  terms.add({all.data() + 46, {}}, "ike,ike->", 1.0, {a.data(), {3, 7, 4}}, {a.data(), {3, 7, 4}});
  return all;
}

constexpr WorthSharing everything = {0.0, 0.0};

TEST(SharedContractions, GiveAllRanksTheSameNumbers) {
  const std::vector<double> alone = some_terms(contract_on_cores(1));
  for (const int ranks : {1, 2, 3, 7}) {
    std::vector<std::vector<double>> found(static_cast<std::size_t>(ranks));
    const auto failures = failures_of_ranks(ranks, [&](Communicator& communicator) {
      share_contractions(communicator, contract_on_cores(1), everything, [&](const Contract& contract) {
        found[static_cast<std::size_t>(communicator.rank())] = some_terms(contract);
      });
    });
    EXPECT_EQ(failures, std::vector<std::string>(static_cast<std::size_t>(ranks)));
    for (const auto& each : found) {
      EXPECT_EQ(each, found.front());
      for (std::size_t n = 0; n < alone.size(); ++n) EXPECT_NEAR(each[n], alone[n], 1e-13);
    }
  }
}

/// Cores that fail on rank 1.
class FailingCores final : public contraction::Workplace {
 public:
  explicit FailingCores(int rank) : rank_(rank) {}
  void add(const contraction::Contraction& contraction, double factor, const double* a, const double* b,
           double* c) override {
    if (rank_ == 1) throw InputError("An array cannot be read.");
    cores_->add(contraction, factor, a, b, c);
  }
  void set_to_zero(double*, std::int64_t) override {}
  void finish(double*, std::int64_t) override {}
  void forget(const double*) override {}
  bool is_host() const override { return true; }

 private:
  int rank_;
  Contract cores_ = contract_on_cores(1);
};

TEST(SharedContractions, FailOnAllRanks) {
  for (const bool in_contraction : {false, true}) {
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      const int rank = communicator.rank();
      const Contract own = in_contraction ? std::make_shared<FailingCores>(rank) : contract_on_cores(1);
      share_contractions(communicator, own, everything, [&](const Contract& contract) {
        if (!in_contraction && rank == 1) throw InputError("An array cannot be read.");
        some_terms(contract);
      });
    });
    EXPECT_EQ(failures[0], "Rank 1 failed: An array cannot be read.");
    EXPECT_EQ(failures[1], "An array cannot be read.");
    EXPECT_EQ(failures[2], "Rank 1 failed: An array cannot be read.");
  }
}

}
}
