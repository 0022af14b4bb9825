#include "cxx/cuda/schedule/panel_owner_map.hpp"

#include <iterator>
#include <set>
#include <utility>

#include "cxx/cuda/schedule/arena.hpp"
#include "cxx/cuda/schedule/slab_dealer.hpp"
#include "cxx/cuda/schedule/slab_shape.hpp"

namespace trifuse::gpu {

PanelOwnerMap::PanelOwnerMap(const PanelLayout& panels, const OperandFormat& format,
                             const std::function<int(const PanelExtent&)>& owner_of) {
  // The two indices of one kind stand in the order of their tiles. If the tiles are equal, tasks read both orders,
  // unless one order follows from the other by antisymmetry.
  const bool both = panels.formulation() == SpinFormulation::spin_adapted;
  const auto add_orders = [&](const PanelKey& key, int owner) {
    const std::size_t first = first_ordered_index(key.kind);
    const int one = key.tiles[first], other = key.tiles[first + 1];
    for (const bool swapped : {false, true}) {
      if (!(swapped ? one > other || (both && one == other) : one <= other)) continue;
      const PanelName name(key, swapped, format);
      add(name, owner, packed_bytes(panels.tiles(), panels.formulation(), name));
    }
  };
  panels.visit([&](const PanelKey& key, const PanelExtent& extent) {
    // Panels that are made from factors, and the factors, do not come from peers.
    const int owner = is_slab(key.kind) || panels.makes(key) ? -1 : owner_of(extent);
    if (owner < 0) return;
    for (const Side side : panels.sides_in_panel(key)) {
      PanelKey of_side = key;
      of_side.side = side;
      add_orders(of_side, owner);
    }
  });
}

PanelOwnerMap PanelOwnerMap::of_slabs(const PanelLayout& panels, std::span<const int> owners) {
  PanelOwnerMap map;
  std::set<int> gpus(owners.begin(), owners.end());
  gpus.erase(-1);
  if (gpus.empty() || !panels.has_factors()) return map;
  const std::vector<int> numbers(gpus.begin(), gpus.end());
  SlabDealer dealer(numbers.size());
  panels.visit([&](const PanelKey& key, const PanelExtent&) {
    if (!is_slab(key.kind)) return;
    const std::int64_t bytes = slab_shape(panels.tiles(), panels.auxiliary(), key).bytes();
    map.add(slab_name(key), numbers[dealer.deal(bytes).gpu], bytes);
  });
  return map;
}

void PanelOwnerMap::add(const PanelName& name, int owner, std::int64_t bytes) {
  OwnedPanels& owned = owned_[owner];
  locations_[name] = {owner, owned.bytes, bytes};
  owned.names.push_back(name);
  owned.bytes += Arena::rounded(bytes);
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

PeerPanels::PeerPanels(std::shared_ptr<const PanelOwnerMap> owners, std::vector<PeerRange> memory_of_owner)
    : owners_(std::move(owners)), memory_of_owner_(std::move(memory_of_owner)) {}

const std::byte* PeerPanels::find(const PanelName& name) const {
  if (owners_ == nullptr) return nullptr;
  const auto location = owners_->find(name);
  if (!location || location->owner >= std::ssize(memory_of_owner_)) return nullptr;
  const PeerRange& range = memory_of_owner_[static_cast<std::size_t>(location->owner)];
  const bool exported = range.begin != nullptr && location->offset + location->bytes <= range.bytes;
  return exported ? range.begin + location->offset : nullptr;
}

void PeerPanels::lose_owner(const PanelName& name) {
  if (find(name) == nullptr) return;
  memory_of_owner_[static_cast<std::size_t>(owners_->find(name)->owner)] = {};
}

}
