#include "cxx/cuda/schedule/panel_owner_map.hpp"

#include <iterator>
#include <utility>

#include "cxx/cuda/schedule/arena.hpp"

namespace trifuse::gpu {

PanelOwnerMap::PanelOwnerMap(const PanelLayout& panels, const OperandFormat& format,
                             const std::function<int(const PanelExtent&)>& owner_of) {
  const auto add = [&](const PanelName& name, int number) {
    OwnedPanels& owner = owned_[number];
    locations_[name] = {number, owner.bytes};
    owner.names.push_back(name);
    owner.bytes += Arena::rounded(packed_bytes(panels.tiles(), panels.formulation(), name));
  };
  // The two indices of one kind stand in the order of their tiles. If the tiles coincide, tasks read both orders,
  // unless antisymmetry turns one order into the other.
  const bool both = panels.formulation() == SpinFormulation::spin_adapted;
  const auto add_orders = [&](const PanelKey& key, int owner) {
    const std::size_t first = first_ordered_index(key.kind);
    const int one = key.tiles[first], other = key.tiles[first + 1];
    for (const bool swapped : {false, true}) {
      if (swapped ? one > other || (both && one == other) : one <= other) add({key, swapped, format}, owner);
    }
  };
  panels.visit([&](const PanelKey& key, const PanelExtent& extent) {
    // Right panels that are made from factors, and the factors, do not come from peers.
    const bool of_factors = panels.has_factors() && key.kind != PanelKind::left && key.kind != PanelKind::vvoo;
    const int owner = of_factors ? -1 : owner_of(extent);
    if (owner < 0) return;
    add_orders(key, owner);
    if (key.kind != PanelKind::right || !panels.two_sided()) return;
    // The left and the right side each read a part of a right panel.
    PanelKey of_left = key;
    of_left.side = AmplitudeSide::left;
    add_orders(of_left, owner);
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
