#include "cxx/parallel/panel_neighbours.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

using Homes = std::vector<int>;

TEST(HomesOfRanks, AreWithTheNeighboursThatTakePart) {
  const std::vector<std::string> hosts = {"a", "a", "a", "b", "b", "a", "a"};
  const std::vector<bool> takes_part = {true, false, true, true, true, false, false};
  const Homes on_a = {0, 0, 2, -1, -1, 2, 0}, on_b = {-1, -1, -1, 3, 4, -1, -1};
  EXPECT_EQ(homes_of_ranks(hosts, takes_part, 0), on_a);
  EXPECT_EQ(homes_of_ranks(hosts, takes_part, 2), on_a);
  EXPECT_EQ(homes_of_ranks(hosts, takes_part, 3), on_b);
  EXPECT_EQ(homes_of_ranks(hosts, takes_part, 5), Homes()) << "does not take part";
}

TEST(HomesOfRanks, AreNoneForOneAlone) {
  const std::vector<std::string> hosts = {"a", "b", "b"};
  EXPECT_EQ(homes_of_ranks(hosts, {true, true, false}, 0), Homes());
  EXPECT_EQ(homes_of_ranks(hosts, {true, true, false}, 1), Homes());
}

/// Keeps what it is told.
class MadeUpExchange final : public PanelExchange {
 public:
  explicit MadeUpExchange(int failing = 0) : failing_(failing) {}
  std::string offer(std::span<const int> home_of_rank, int rank) override {
    homes.assign(home_of_rank.begin(), home_of_rank.end());
    if (failing_ == 1) throw DeviceError("it is gone");
    return "offer of " + std::to_string(rank);
  }
  void take(std::span<const std::string> offers) override {
    if (failing_ == 2) throw DeviceError("it is gone now");
    taken.assign(offers.begin(), offers.end());
  }
  void let_go() override { taken.clear(); }
  std::int64_t bytes_taken() const override { return 17; }

  std::vector<int> homes;
  std::vector<std::string> taken;

 private:
  int failing_;
};

/// As a run does: a device that fails is warned of, and the rank goes on.
auto swallow(Communicator& communicator, int& failures) {
  return [&](const std::function<void()>& body) {
    run_collectively(&communicator, [&] {
      try {
        body();
      } catch (const DeviceError&) {
        ++failures;
      }
    });
  };
}

TEST(PanelNeighbours, GetTheOffersOfAll) {
  const auto failures = failures_of_ranks(4, [](Communicator& communicator) {
    MadeUpExchange exchange;
    const bool takes_part = communicator.rank() != 1;
    int failed = 0;
    meet_neighbours(communicator, takes_part ? &exchange : nullptr, swallow(communicator, failed));
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(exchange.homes, takes_part ? Homes({0, 0, 2, 3}) : Homes());
    const std::vector<std::string> all = {"offer of 0", "", "offer of 2", "offer of 3"};
    EXPECT_EQ(exchange.taken, takes_part ? all : std::vector<std::string>());
    EXPECT_EQ(leave_neighbours(communicator, takes_part ? &exchange : nullptr), takes_part ? 17 : 0);
    EXPECT_TRUE(exchange.taken.empty());
  });
  EXPECT_EQ(failures, std::vector<std::string>(4));
}

TEST(PanelNeighbours, GoOnWithoutThoseThatFail) {
  for (const int step : {1, 2}) {
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      MadeUpExchange exchange(communicator.rank() == 1 ? step : 0);
      int failed = 0;
      meet_neighbours(communicator, &exchange, swallow(communicator, failed));
      EXPECT_EQ(failed, communicator.rank() == 1 ? 1 : 0);
      if (communicator.rank() == 1) {
        EXPECT_TRUE(exchange.taken.empty());
      } else {
        EXPECT_EQ(exchange.taken.at(1), step == 1 ? "" : "offer of 1");
        EXPECT_EQ(exchange.taken.at(2), "offer of 2");
      }
      leave_neighbours(communicator, &exchange);
    });
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

TEST(PanelNeighbours, AllFailWhereOneDoesOtherwise) {
  const auto failures = failures_of_ranks(3, [](Communicator& communicator) {
    MadeUpExchange exchange(communicator.rank() == 2 ? 1 : 0);
    meet_neighbours(communicator, &exchange,
                    [&](const std::function<void()>& body) { run_collectively(&communicator, body); });
  });
  EXPECT_EQ(failures,
            (std::vector<std::string>{"Rank 2 failed: it is gone", "Rank 2 failed: it is gone", "it is gone"}));
}

TEST(PanelNeighbours, AreNotAskedWhereOneIsAlone) {
  const auto failures = failures_of_ranks(2, [](Communicator& communicator) {
    MadeUpExchange exchange(1);
    int failed = 0;
    meet_neighbours(communicator, communicator.rank() == 0 ? &exchange : nullptr, swallow(communicator, failed));
    EXPECT_EQ(failed, 0);
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

}  // namespace
}  // namespace trifuse::testing
