#include "cxx/cuda/schedule/slab_placement.hpp"

#include <algorithm>
#include <utility>

#include "cxx/cuda/schedule/slab_dealer.hpp"

namespace trifuse::gpu {

std::vector<SlabPlacement::Copy> SlabPlacement::own(std::span<const PanelName> slabs, std::int64_t limit) {
  std::vector<Copy> copies;
  for (const PanelName& name : slabs) {
    const SlabShape shape = shape_of(name.key);
    if (!owner_keeps(owned_bytes_, shape.bytes(), limit)) break;
    copies.push_back({name.key, shape, {true, owned_bytes_}, nullptr});
    owned_.emplace(name.key, owned_bytes_);
    owned_bytes_ += Arena::rounded(shape.bytes());
  }
  table_ = SlabTable(cache_bytes());
  return copies;
}

void SlabPlacement::set_peers(PeerPanels peers) {
  peers_ = std::move(peers);
}

void SlabPlacement::lose_peer(const PanelKey& key) {
  peers_.lose_owner(slab_name(key));
}

SlabPlacement::Plan SlabPlacement::plan(std::span<const PanelKey> keys) {
  std::vector<SlabTable::Wanted> wanted;
  for (const PanelKey& key : keys) {
    const bool named = std::any_of(wanted.begin(), wanted.end(), [&](const auto& other) { return other.key == key; });
    if (!named && !owned_.contains(key)) wanted.push_back({key, shape_of(key).bytes()});
  }
  const std::vector<SlabTable::Location> locations = table_.locate(wanted);
  Plan plan;
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    if (!locations[n].missing) continue;
    const PanelKey& key = wanted[n].key;
    plan.copies.push_back({key, shape_of(key), {false, locations[n].offset}, peers_.find(slab_name(key))});
  }
  for (const PanelKey& key : keys) {
    if (const auto owned = owned_.find(key); owned != owned_.end()) {
      plan.places.push_back({true, owned->second});
      continue;
    }
    const auto at = std::find_if(wanted.begin(), wanted.end(), [&](const auto& slab) { return slab.key == key; });
    plan.places.push_back({false, locations[static_cast<std::size_t>(at - wanted.begin())].offset});
  }
  return plan;
}

void SlabPlacement::forget(std::span<const Copy> copies) {
  for (const Copy& copy : copies) table_.forget(copy.key);
}

}
