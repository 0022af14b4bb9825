#include "cxx/parallel/peer_exchange.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cxx/base/error.hpp"
#include "tests/support/thread_communicator.hpp"

namespace trifuse::testing {
namespace {

using Owners = std::vector<int>;

TEST(PanelOwners, AreThePeersThatTakePart) {
  const std::vector<std::string> hosts = {"a", "a", "a", "b", "b", "a", "a"};
  const std::vector<bool> takes_part = {true, false, true, true, true, false, false};
  const Owners on_a = {0, 0, 2, -1, -1, 2, 0}, on_b = {-1, -1, -1, 3, 4, -1, -1};
  EXPECT_EQ(panel_owners(hosts, takes_part, 0), on_a);
  EXPECT_EQ(panel_owners(hosts, takes_part, 2), on_a);
  EXPECT_EQ(panel_owners(hosts, takes_part, 3), on_b);
  EXPECT_EQ(panel_owners(hosts, takes_part, 5), Owners()) << "does not take part";
}

TEST(PanelOwners, AreNoneForOneAlone) {
  const std::vector<std::string> hosts = {"a", "b", "b"};
  EXPECT_EQ(panel_owners(hosts, {true, true, false}, 0), Owners());
  EXPECT_EQ(panel_owners(hosts, {true, true, false}, 1), Owners());
}

/// An exchange that records its calls.
class MadeUpExchange final : public PanelExchange {
 public:
  explicit MadeUpExchange(int failing = 0) : failing_(failing) {}
  std::string export_panels(std::span<const int> owner_of_rank, int rank) override {
    owners.assign(owner_of_rank.begin(), owner_of_rank.end());
    if (failing_ == 1) throw DeviceError("it is gone");
    return "handle of " + std::to_string(rank);
  }
  void import_panels(std::span<const std::string> handles) override {
    if (failing_ == 2) throw DeviceError("it is gone now");
    imported.assign(handles.begin(), handles.end());
  }
  void close() override { imported.clear(); }
  std::int64_t bytes_imported() const override { return 17; }

  std::vector<int> owners;
  std::vector<std::string> imported;

 private:
  int failing_;
};

/// Catches the failure of a device, as a run does. The rank continues.
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

TEST(PeerExchange, GivesEachRankTheHandlesOfAll) {
  const auto failures = failures_of_ranks(4, [](Communicator& communicator) {
    MadeUpExchange exchange;
    const bool takes_part = communicator.rank() != 1;
    int failed = 0;
    open_peer_exchange(communicator, takes_part ? &exchange : nullptr, swallow(communicator, failed));
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(exchange.owners, takes_part ? Owners({0, 0, 2, 3}) : Owners());
    const std::vector<std::string> all = {"handle of 0", "", "handle of 2", "handle of 3"};
    EXPECT_EQ(exchange.imported, takes_part ? all : std::vector<std::string>());
    EXPECT_EQ(close_peer_exchange(communicator, takes_part ? &exchange : nullptr), takes_part ? 17 : 0);
    EXPECT_TRUE(exchange.imported.empty());
  });
  EXPECT_EQ(failures, std::vector<std::string>(4));
}

TEST(PeerExchange, GoesOnWithoutRanksThatFail) {
  for (const int step : {1, 2}) {
    const auto failures = failures_of_ranks(3, [&](Communicator& communicator) {
      MadeUpExchange exchange(communicator.rank() == 1 ? step : 0);
      int failed = 0;
      open_peer_exchange(communicator, &exchange, swallow(communicator, failed));
      EXPECT_EQ(failed, communicator.rank() == 1 ? 1 : 0);
      if (communicator.rank() == 1) {
        EXPECT_TRUE(exchange.imported.empty());
      } else {
        EXPECT_EQ(exchange.imported.at(1), step == 1 ? "" : "handle of 1");
        EXPECT_EQ(exchange.imported.at(2), "handle of 2");
      }
      close_peer_exchange(communicator, &exchange);
    });
    EXPECT_EQ(failures, std::vector<std::string>(3));
  }
}

TEST(PeerExchange, FailsOnAllRanksIfTheFailureIsNotSwallowed) {
  const auto failures = failures_of_ranks(3, [](Communicator& communicator) {
    MadeUpExchange exchange(communicator.rank() == 2 ? 1 : 0);
    open_peer_exchange(communicator, &exchange,
                       [&](const std::function<void()>& body) { run_collectively(&communicator, body); });
  });
  EXPECT_EQ(failures,
            (std::vector<std::string>{"Rank 2 failed: it is gone", "Rank 2 failed: it is gone", "it is gone"}));
}

TEST(PeerExchange, AsksNoExecutorThatIsAlone) {
  const auto failures = failures_of_ranks(2, [](Communicator& communicator) {
    MadeUpExchange exchange(1);
    int failed = 0;
    open_peer_exchange(communicator, communicator.rank() == 0 ? &exchange : nullptr, swallow(communicator, failed));
    EXPECT_EQ(failed, 0);
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

}
}
