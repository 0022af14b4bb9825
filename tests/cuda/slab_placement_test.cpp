#include "cxx/cuda/schedule/slab_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "cxx/cuda/schedule/device_budget.hpp"
#include "cxx/operands/factor_products.hpp"
#include "tests/support/factored_source.hpp"

/// The exchange of slabs of factors between the GPUs of a host, without GPUs.
namespace trifuse::gpu {
namespace {

using namespace trifuse::testing;

std::vector<PanelKey> slabs_of(const PanelLayout& panels) {
  std::vector<PanelKey> slabs;
  panels.visit([&](const PanelKey& key, const PanelExtent&) {
    if (is_slab(key.kind)) slabs.push_back(key);
  });
  return slabs;
}

/// The slabs of each left and right panel, as a device that makes the panel asks for them, and then each slab alone.
std::vector<std::vector<PanelKey>> slabs_of_panels(const PanelLayout& panels) {
  std::vector<std::vector<PanelKey>> lists;
  panels.visit([&](const PanelKey& key, const PanelExtent&) {
    if (key.kind != PanelKind::left && key.kind != PanelKind::right) return;
    lists.emplace_back();
    for (const FactorProduct& product : factor_products(panels.tiles(), panels.formulation(), key)) {
      lists.back().insert(lists.back().end(), {product.first, product.second});
    }
  });
  for (const PanelKey& slab : slabs_of(panels)) lists.push_back({slab});
  return lists;
}

/// A host with GPUs whose memory is that of this process. Each slab has the number of its key as contents.
class MadeUpHost {
 public:
  struct Gpu {
    SlabPlacement placement;
    std::vector<std::byte> cache, owned;
    std::int64_t from_host = 0, from_peers = 0;  ///< numbers of copied slabs
    std::int64_t refused = 0;                    ///< copies from this GPU that its peers were refused
    bool failed = false;                         ///< refuses copies from its memory
  };

  MadeUpHost(const PanelLayout& panels, std::size_t gpus, std::int64_t bytes) : panels_(panels) {
    for (int g = 0; g < static_cast<int>(gpus); ++g) {
      gpus_.push_back(std::make_unique<Gpu>(Gpu{SlabPlacement(panels, bytes), {}, {}}));
      numbers_.push_back(g);
    }
    owners_ = std::make_shared<const PanelOwnerMap>(PanelOwnerMap::of_slabs(panels, numbers_));
  }

  /// Each GPU exports what it owns, at most `limits` [gpu] bytes.
  void export_slabs(const std::vector<std::int64_t>& limits) {
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      Gpu& gpu = *gpus_[g];
      const auto copies = gpu.placement.own(owners_->panels_of(static_cast<int>(g)), limits[g]);
      EXPECT_LE(gpu.placement.owned_bytes(), std::max<std::int64_t>(0, limits[g]));
      gpu.owned.resize(static_cast<std::size_t>(gpu.placement.owned_bytes()));
      gpu.cache.resize(static_cast<std::size_t>(gpu.placement.cache_bytes()));
      for (const SlabPlacement::Copy& copy : copies) {
        EXPECT_TRUE(copy.to.owned);
        EXPECT_EQ(copy.peer, nullptr);
        put(gpu, copy);
      }
    }
  }
  /// Each GPU opens the memory of the others. `unreachable` [gpu]: nobody can open the memory of this GPU.
  void open_peers(const std::set<std::size_t>& unreachable = {}) {
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      std::vector<PeerRange> ranges(gpus_.size());
      for (std::size_t peer = 0; peer < gpus_.size(); ++peer) {
        const std::vector<std::byte>& owned = gpus_[peer]->owned;
        const bool open = peer != g && !unreachable.contains(peer) && !owned.empty();
        ranges[peer] = {open ? owned.data() : nullptr, std::ssize(owned)};
      }
      gpus_[g]->placement.set_peers({owners_, ranges});
    }
  }

  /// Makes slabs present on a GPU, as SlabCache does, and checks their contents.
  void bring(std::size_t g, const std::vector<PanelKey>& keys) {
    Gpu& gpu = *gpus_[g];
    const SlabPlacement::Plan plan = gpu.placement.plan(keys);
    for (const SlabPlacement::Copy& copy : plan.copies) {
      EXPECT_FALSE(copy.to.owned) << "owned slabs are there";
      put(gpu, copy);
    }
    ASSERT_EQ(plan.places.size(), keys.size());
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const auto bytes = static_cast<std::size_t>(shape_of(keys[n]).bytes());
      const std::vector<std::byte>& memory = plan.places[n].owned ? gpu.owned : gpu.cache;
      const auto offset = static_cast<std::size_t>(plan.places[n].offset);
      ASSERT_LE(offset + bytes, memory.size());
      const std::vector<std::byte>& expected = contents_of(keys[n]);
      ASSERT_EQ(std::memcmp(memory.data() + offset, expected.data(), bytes), 0);
    }
  }

  Gpu& gpu(std::size_t g) { return *gpus_[g]; }
  const PanelOwnerMap& owners() const { return *owners_; }
  std::int64_t from_host() const {
    std::int64_t slabs = 0;
    for (const auto& gpu : gpus_) slabs += gpu->from_host;
    return slabs;
  }
  std::int64_t from_peers() const {
    std::int64_t slabs = 0;
    for (const auto& gpu : gpus_) slabs += gpu->from_peers;
    return slabs;
  }

 private:
  SlabShape shape_of(const PanelKey& key) const { return slab_shape(panels_.tiles(), panels_.auxiliary(), key); }
  const std::vector<std::byte>& contents_of(const PanelKey& key) {
    std::vector<std::byte>& contents = contents_[key];
    if (!contents.empty()) return contents;
    std::mt19937 random(static_cast<unsigned>(8 * panels_.number_of(key) + static_cast<int>(key.kind)));
    contents.resize(static_cast<std::size_t>(shape_of(key).bytes()));
    for (std::byte& byte : contents) byte = static_cast<std::byte>(random());
    return contents;
  }
  void put(Gpu& gpu, const SlabPlacement::Copy& copy) {
    const std::vector<std::byte>& of_host = contents_of(copy.key);
    std::vector<std::byte>& memory = copy.to.owned ? gpu.owned : gpu.cache;
    ASSERT_EQ(copy.shape.bytes(), std::ssize(of_host));
    ASSERT_LE(copy.to.offset + copy.shape.bytes(), std::ssize(memory));
    const std::byte* from = copy.peer;
    if (from != nullptr && refuses(from)) {
      gpu.placement.lose_peer(copy.key);
      from = nullptr;
    }
    std::memcpy(memory.data() + copy.to.offset, from != nullptr ? from : of_host.data(), of_host.size());
    ++(from != nullptr ? gpu.from_peers : gpu.from_host);
  }

  /// True if `from` lies in the memory of a GPU that has failed. Counts the refusal.
  bool refuses(const std::byte* from) {
    for (const auto& gpu : gpus_) {
      const std::byte* const begin = gpu->owned.data();
      if (!gpu->failed || from < begin || from >= begin + gpu->owned.size()) continue;
      ++gpu->refused;
      return true;
    }
    return false;
  }

  const PanelLayout& panels_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<int> numbers_;
  std::shared_ptr<const PanelOwnerMap> owners_;
  std::map<PanelKey, std::vector<std::byte>> contents_;
};

/// Calls `check(panels, demand)` for each layout with slabs.
template <typename Check>
void for_each_layout_with_slabs(Check check) {
  for_each_factored_problem([&](const FactoredProblem& problem, const TileSpace& tiles) {
    const PanelLayout panels(problem.of_factors, tiles);
    if (slabs_of(panels).size() < 4) return;
    check(panels, panel_demand(problem.of_factors, tiles, format_of<Fp64>()));
  });
}

TEST(SlabOwners, EachSlabHasOneAndAllOwnAboutTheSame) {
  for_each_layout_with_slabs([](const PanelLayout& panels, const PanelDemand&) {
    const std::vector<int> of_ranks = {5, 2, 5, -1, 9, 2};
    const PanelOwnerMap owners = PanelOwnerMap::of_slabs(panels, of_ranks);
    std::set<PanelKey> found;
    std::size_t slabs = 0;
    std::int64_t least = owners.bytes(2), most = least, largest = 0;
    for (const int owner : {2, 5, 9}) {
      std::int64_t offset = 0;
      for (const PanelName& name : owners.panels_of(owner)) {
        EXPECT_TRUE(is_slab(name.key.kind));
        EXPECT_EQ(name, slab_name(name.key));
        const auto location = owners.find(name);
        ASSERT_TRUE(location.has_value());
        EXPECT_EQ(location->owner, owner);
        EXPECT_EQ(location->offset, offset);
        EXPECT_EQ(location->bytes, slab_shape(panels.tiles(), panels.auxiliary(), name.key).bytes());
        offset += Arena::rounded(location->bytes);
        largest = std::max(largest, Arena::rounded(location->bytes));
        found.insert(name.key);
        ++slabs;
      }
      EXPECT_EQ(owners.bytes(owner), offset);
      least = std::min(least, offset);
      most = std::max(most, offset);
    }
    EXPECT_LE(most - least, largest);
    const std::vector<PanelKey> all = slabs_of(panels);
    EXPECT_EQ(found, std::set<PanelKey>(all.begin(), all.end()));
    EXPECT_EQ(slabs, all.size()) << "a slab has two owners";
    // Other GPUs of the host, which list the owners in another order, make the same map.
    const std::vector<int> other_order = {9, 5, 2};
    const PanelOwnerMap same = PanelOwnerMap::of_slabs(panels, other_order);
    for (const int owner : {2, 5, 9}) EXPECT_EQ(same.panels_of(owner), owners.panels_of(owner));
  });
}

TEST(SlabOwners, MayBeAbsent) {
  for_each_factored_problem([](const FactoredProblem& problem, const TileSpace& tiles) {
    const std::vector<int> none = {-1, -1}, two = {0, 1};
    const PanelOwnerMap without_gpus = PanelOwnerMap::of_slabs(PanelLayout(problem.of_factors, tiles), none);
    const PanelOwnerMap without_factors = PanelOwnerMap::of_slabs(PanelLayout(problem.of_integrals, tiles), two);
    for (const int owner : {-1, 0, 1}) {
      EXPECT_TRUE(without_gpus.panels_of(owner).empty());
      EXPECT_TRUE(without_factors.panels_of(owner).empty());
    }
  });
}

TEST(SlabPlacement, TheHostReplacesAPeerThatFails) {
  bool refused = false, from_sound_peer = false;
  for_each_layout_with_slabs([&](const PanelLayout& panels, const PanelDemand& demand) {
    constexpr std::size_t gpus = 3, broken = 1;
    MadeUpHost host(panels, gpus, demand.slabs);
    host.export_slabs(std::vector<std::int64_t>(gpus, owned_slab_limit(demand.slabs, demand)));
    host.open_peers();
    const auto lists = slabs_of_panels(panels);
    std::size_t longest = 0;
    for (const auto& keys : lists) longest = std::max(longest, keys.size());
    // The GPU has some slabs when its peer fails.
    for (std::size_t n = 0; n < lists.size() / 3; ++n) host.bring(0, lists[n]);
    host.gpu(broken).failed = true;
    const std::int64_t before = host.gpu(0).from_peers;
    for (const auto& keys : lists) host.bring(0, keys);
    // Only the slabs of one list are asked for before the peer is known to have failed.
    EXPECT_LE(host.gpu(broken).refused, static_cast<std::int64_t>(longest));
    refused = refused || host.gpu(broken).refused > 0;
    from_sound_peer = from_sound_peer || host.gpu(0).from_peers > before;
    // Another GPU of the same process still reads the sound ones.
    for (const auto& keys : lists) host.bring(2, keys);
    EXPECT_LE(host.gpu(broken).refused, static_cast<std::int64_t>(2 * longest));
  });
  EXPECT_TRUE(refused);
  EXPECT_TRUE(from_sound_peer);
}

TEST(SlabPlacement, TheHostSendsEachSlabOnceIfAllFit) {
  for_each_layout_with_slabs([](const PanelLayout& panels, const PanelDemand& demand) {
    for (const std::size_t gpus : {2U, 3U}) {
      MadeUpHost host(panels, gpus, demand.slabs);
      const std::int64_t limit = owned_slab_limit(demand.slabs, demand);
      host.export_slabs(std::vector<std::int64_t>(gpus, limit));
      host.open_peers();
      for (std::size_t g = 0; g < gpus; ++g) {
        for (const auto& keys : slabs_of_panels(panels)) host.bring(g, keys);
      }
      const auto slabs = std::ssize(slabs_of(panels));
      EXPECT_EQ(host.from_host(), slabs);
      EXPECT_EQ(host.from_peers(), static_cast<std::int64_t>(gpus - 1) * slabs)
          << "each GPU has all slabs, and no slab was copied twice";
    }
  });
}

TEST(SlabPlacement, PeersSendSlabsAgainIfTheyDoNotFit) {
  constexpr std::size_t gpus = 3;
  const FactoredProblem problem(closed_shell(8, 24), SpinFormulation::spin_adapted);
  const TileSpace tiles = problem.with_factors.tiles().retiled(2, 3);
  const PanelLayout panels(problem.of_factors, tiles);
  const PanelDemand demand = panel_demand(problem.of_factors, tiles, format_of<Fp64>());
  const std::int64_t bytes = demand.slabs / 3 + 2 * demand.slabs_at_once, limit = owned_slab_limit(bytes, demand);
  ASSERT_LT(bytes, demand.slabs);
  MadeUpHost host(panels, gpus, bytes);
  host.export_slabs(std::vector<std::int64_t>(gpus, limit));
  for (const int owner : {0, 1, 2}) ASSERT_LE(host.owners().bytes(owner), limit);
  host.open_peers();
  std::vector<std::vector<PanelKey>> lists = slabs_of_panels(panels);
  std::shuffle(lists.begin(), lists.end(), std::mt19937(3));
  for (std::size_t g = 0; g < gpus; ++g) {
    for (const auto& keys : lists) host.bring(g, keys);
  }
  const auto slabs = std::ssize(slabs_of(panels));
  EXPECT_EQ(host.from_host(), slabs) << "the host sends each slab once";
  EXPECT_GT(host.from_peers(), 4 * slabs) << "no slab was copied again";
}

TEST(SlabPlacement, TakesFromTheHostWhatNoPeerExports) {
  for_each_layout_with_slabs([](const PanelLayout& panels, const PanelDemand& demand) {
    const auto slabs = std::ssize(slabs_of(panels));
    const std::vector<std::vector<PanelKey>> lists = slabs_of_panels(panels);
    const auto bring_all = [&](MadeUpHost& host, std::size_t g) {
      for (const auto& keys : lists) host.bring(g, keys);
    };
    const auto owned_by = [](const MadeUpHost& host, int g) { return std::ssize(host.owners().panels_of(g)); };
    {
      MadeUpHost host(panels, 3, demand.slabs);  // nobody can read the memory of GPU 1
      host.export_slabs({demand.slabs, demand.slabs, demand.slabs});
      host.open_peers({1});
      for (const std::size_t g : {0, 1, 2}) bring_all(host, g);
      EXPECT_EQ(host.from_host(), slabs + 2 * owned_by(host, 1));
      EXPECT_EQ(host.gpu(0).from_peers, owned_by(host, 2));
      EXPECT_EQ(host.gpu(1).from_peers, owned_by(host, 0) + owned_by(host, 2));
    }
    {
      MadeUpHost host(panels, 2, demand.slabs);  // GPU 1 has room for its first slab only, GPU 0 for none
      const PanelName first = host.owners().panels_of(1).front();
      host.export_slabs({0, Arena::rounded(host.owners().find(first)->bytes)});
      host.open_peers();
      for (const std::size_t g : {0, 1}) bring_all(host, g);
      EXPECT_EQ(host.gpu(0).from_peers, 1);
      EXPECT_EQ(host.gpu(0).from_host, slabs - 1);
      EXPECT_EQ(host.gpu(1).from_peers, 0);
      EXPECT_EQ(host.gpu(1).from_host, slabs);
    }
    {
      MadeUpHost host(panels, 2, demand.slabs);  // the exchange is closed before a slab is used
      host.export_slabs({demand.slabs, demand.slabs});
      host.open_peers();
      host.gpu(0).placement.set_peers({});
      bring_all(host, 0);
      EXPECT_EQ(host.gpu(0).from_peers, 0);
      EXPECT_EQ(host.gpu(0).from_host, slabs);
    }
  });
}

TEST(SlabPlacement, CopiesAgainWhatCouldNotBeCopied) {
  for_each_layout_with_slabs([](const PanelLayout& panels, const PanelDemand& demand) {
    SlabPlacement placement(panels, demand.slabs);
    const std::vector<std::vector<PanelKey>> lists = slabs_of_panels(panels);
    const auto several = std::find_if(lists.begin(), lists.end(), [](const auto& list) { return list.size() > 1; });
    ASSERT_NE(several, lists.end());
    const std::vector<PanelKey>& keys = *several;
    const SlabPlacement::Plan failed = placement.plan(keys);
    ASSERT_GE(failed.copies.size(), 2U);
    placement.forget(std::span(failed.copies).subspan(1));
    const SlabPlacement::Plan second = placement.plan(keys);
    ASSERT_EQ(second.copies.size(), failed.copies.size() - 1);
    for (std::size_t n = 0; n < second.copies.size(); ++n) EXPECT_EQ(second.copies[n].key, failed.copies[n + 1].key);
    EXPECT_TRUE(placement.plan(keys).copies.empty());
  });
}

TEST(SlabPlacement, LeavesRoomForTheSlabsOfAnyPanel) {
  for_each_layout_with_slabs([](const PanelLayout& panels, const PanelDemand& demand) {
    for (const std::int64_t bytes : {demand.slabs_at_once, demand.slabs_at_once + 300, demand.slabs}) {
      const std::int64_t limit = owned_slab_limit(bytes, demand);
      EXPECT_GE(limit, 0);
      MadeUpHost host(panels, 2, bytes);
      host.export_slabs({limit, limit});
      host.open_peers();
      for (const auto& keys : slabs_of_panels(panels)) host.bring(1, keys);
      EXPECT_LE(host.gpu(1).placement.used(), bytes);
    }
  });
}

}
}
