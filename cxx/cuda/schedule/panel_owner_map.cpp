#include "cxx/cuda/schedule/panel_owner_map.hpp"

#include <iterator>
#include <utility>

#include "cxx/cuda/schedule/arena.hpp"

namespace trifuse::gpu {

namespace {

/// The name of the packed panel that is made of a panel of the host. `swapped` is false.
PanelName name_of(const PanelKey& key, AmplitudeSide side) {
  switch (key.kind) {
    case PanelKey::Kind::left:
      return {PanelKind::left, side, 0, false, key.tiles};
    case PanelKey::Kind::right:
      return {PanelKind::right, side, 0, false, key.tiles};
    case PanelKey::Kind::vvoo:
      break;
  }
  return {PanelKind::vvoo, side, key.set, false, key.tiles};
}

}  // namespace

PanelOwnerMap::PanelOwnerMap(const PanelLayout& panels, const std::function<int(const PanelExtent&)>& owner_of) {
  const auto add = [&](const PanelName& name, int number) {
    OwnedPanels& owner = owned_[number];
    locations_[name] = {number, owner.bytes};
    owner.names.push_back(name);
    owner.bytes += Arena::rounded(packed_bytes(panels.tiles(), panels.formulation(), name));
  };
  // The two indices of one kind stand in the order of their tiles. If the tiles coincide, tasks read both orders,
  // unless antisymmetry turns one order into the other.
  const bool both = panels.formulation() == SpinFormulation::spin_adapted;
  const auto add_orders = [&](PanelName name, int owner) {
    const std::size_t first = name.kind == PanelKind::left ? 1 : name.kind == PanelKind::right ? 0 : 2;
    const int one = name.tiles[first], other = name.tiles[first + 1];
    for (const bool swapped : {false, true}) {
      name.swapped = swapped;
      if (swapped ? one > other || (both && one == other) : one <= other) add(name, owner);
    }
  };
  panels.visit([&](const PanelKey& key, const PanelExtent& extent) {
    const int owner = owner_of(extent);
    if (owner < 0) return;
    add_orders(name_of(key, key.side), owner);
    // The left and the right side each read a part of a right panel.
    if (key.kind == PanelKey::Kind::right && panels.two_sided()) add_orders(name_of(key, AmplitudeSide::left), owner);
  });
}

std::optional<PanelOwnerMap::Location> PanelOwnerMap::find(const PanelName& name) const {
  const auto it = locations_.find(name);
  return it == locations_.end() ? std::nullopt : std::optional(it->second);
}

const std::vector<PanelName>& PanelOwnerMap::panels_of(int owner) const {
  static const std::vector<PanelName> none;
  const auto it = owned_.find(owner);
  return it == owned_.end() ? none : it->second.names;
}

std::int64_t PanelOwnerMap::bytes(int owner) const {
  const auto it = owned_.find(owner);
  return it == owned_.end() ? 0 : it->second.bytes;
}

PeerPanels::PeerPanels(std::shared_ptr<const PanelOwnerMap> owners, std::vector<const std::byte*> memory_of_owner)
    : owners_(std::move(owners)), memory_of_owner_(std::move(memory_of_owner)) {}

const std::byte* PeerPanels::find(const PanelName& name) const {
  if (owners_ == nullptr) return nullptr;
  const auto location = owners_->find(name);
  if (!location || location->owner >= std::ssize(memory_of_owner_)) return nullptr;
  const std::byte* const owner = memory_of_owner_[static_cast<std::size_t>(location->owner)];
  return owner == nullptr ? nullptr : owner + location->offset;
}

}  // namespace trifuse::gpu
