#include "cxx/cuda/schedule/panel_source.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "cxx/cuda/schedule/panel_owner_map.hpp"
#include "tests/support/refusals.hpp"
#include "tests/support/small_problems.hpp"

namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

/// Provides the panels of a set.
class SomePanels : public PanelSource {
 public:
  explicit SomePanels(std::set<PanelName> names = {}) : names_(std::move(names)) {}
  bool provides(const PanelName& name) const override { return names_.contains(name); }
  void forget(const PanelName& name) { names_.erase(name); }

 private:
  std::set<PanelName> names_;
};

/// Provides every panel, and profits from prefetch() like a store whose panels lie in another process.
class EveryPanel final : public PanelSource {
 public:
  bool provides(const PanelName&) const override { return true; }
  bool prefetches() const override { return true; }
};

/// Provides what peers own, like PeerPanelProvider.
class OfPeers final : public PanelSource {
 public:
  explicit OfPeers(PeerPanels peers) : peers_(std::move(peers)) {}
  bool provides(const PanelName& name) const override { return peers_.find(name) != nullptr; }

 private:
  PeerPanels peers_;
};

PanelName name_of(int tile) {
  return {PanelKey::right({tile, 2, 3}, Side::right), false, format_of<Fp64>()};
}

TEST(PanelSources, AreAskedInTheirOrder) {
  const SomePanels first({name_of(1)}), second({name_of(1), name_of(2)});
  const EveryPanel last;
  const PanelSourceList sources({&first, &second, &last});
  EXPECT_EQ(sources.choose(name_of(1)), 0u);
  EXPECT_EQ(sources.choose(name_of(2)), 1u);
  EXPECT_EQ(sources.choose(name_of(3)), 2u);
}

TEST(PanelSources, ThatNoLongerProvideAPanelLeaveItToTheNext) {
  SomePanels first({name_of(1), name_of(2)});
  const EveryPanel last;
  const PanelSourceList sources({&first, &last});
  EXPECT_EQ(sources.choose(name_of(1)), 0u);
  first.forget(name_of(1));
  EXPECT_EQ(sources.choose(name_of(1)), 1u);
  EXPECT_EQ(sources.choose(name_of(2)), 0u);
}

TEST(PanelSources, RefuseAPanelThatNoneProvides) {
  const SomePanels only({name_of(1)});
  const PanelSourceList sources({&only});
  expect_failure<Error>([&] { sources.choose(name_of(2)); }, "No source provides");
  expect_failure<Error>([&] { PanelSourceList({}).choose(name_of(1)); }, "No source provides");
}

TEST(PanelSources, PrefetchIfAnyOfThemDoes) {
  const SomePanels first, second;
  const EveryPanel last;
  EXPECT_FALSE(PanelSourceList({&first, &second}).prefetches());
  EXPECT_TRUE(PanelSourceList({&first, &last}).prefetches());
}

TEST(PanelSources, AreCountedOneByOne) {
  const SomePanels first, second, stranger;
  PanelSourceList sources({&first, &second});
  sources.count(0, 100, false);
  sources.count(1, 20, false);
  sources.count(1, 3, false);
  // An owned panel is not produced for a task.
  sources.count(1, 7000, true);
  EXPECT_EQ(sources.produced_by(first).panels, 1);
  EXPECT_EQ(sources.produced_by(first).bytes, 100);
  EXPECT_EQ(sources.produced_by(second).panels, 2);
  EXPECT_EQ(sources.produced_by(second).bytes, 7023);
  EXPECT_EQ(sources.produced_by(stranger).panels, 0);
  EXPECT_EQ(sources.produced_by(stranger).bytes, 0);
}

// GPU 0 of three reads the memory of GPU 1 and cannot read that of GPU 2.
TEST(PanelSources, ArePeersOnlyForTheMemoryThatCanBeRead) {
  for_each_small_problem([](const Problem& problem, const Plan& plan) {
    const PanelLayout panels(problem, plan.tiles);
    const std::int64_t share = panels.doubles() / 3 + 1;
    const auto owners = std::make_shared<const PanelOwnerMap>(
        panels, format_of<Fp64>(), [&](const PanelExtent& extent) { return static_cast<int>(extent.begin / share); });
    const std::vector<std::byte> memory(static_cast<std::size_t>(owners->bytes(1)));
    const PeerPanels peers(owners, {PeerRange(), {memory.data(), std::ssize(memory)}, PeerRange()});
    // GPU 1 has exported all panels but the last one.
    const PanelName& last = owners->panels_of(1).back();
    const PeerPanels fewer(owners, {PeerRange(), {memory.data(), owners->find(last)->offset}});
    const OfPeers of_peers(peers);
    const EveryPanel host;
    const PanelSourceList sources({&of_peers, &host});
    for (const int owner : {0, 1, 2}) {
      ASSERT_FALSE(owners->panels_of(owner).empty());
      for (const PanelName& name : owners->panels_of(owner)) {
        EXPECT_EQ(sources.choose(name), owner == 1 ? 0u : 1u);
        EXPECT_EQ(peers.find(name), owner == 1 ? memory.data() + owners->find(name)->offset : nullptr);
        EXPECT_EQ(fewer.find(name), name == last ? nullptr : peers.find(name));
        // Addresses of fewer peers than there are owners.
        EXPECT_EQ(PeerPanels(owners, {PeerRange()}).find(name), nullptr);
        EXPECT_EQ(PeerPanels().find(name), nullptr);
      }
    }
    EXPECT_EQ(peers.find(name_of(1000)), nullptr);
  });
}

}
}
