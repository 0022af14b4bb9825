#include "cxx/cuda/schedule/panel_homes.hpp"

#include "cxx/cuda/schedule/arena.hpp"

namespace trifuse::gpu {

namespace {

/// Names of the left, right or pair panels that are made of a panel of the host, but for the order of its positions.
PanelName name_of(const PanelKey& key, Side side) {
  switch (key.kind) {
    case PanelKey::Kind::left:
      return {PanelKind::left, side, 0, false, key.tiles};
    case PanelKey::Kind::right:
      return {PanelKind::right, side, 0, false, key.tiles};
    case PanelKey::Kind::pairs:
      break;
  }
  return {PanelKind::pairs, side, key.set, false, key.tiles};
}

}  // namespace

PanelHomes::PanelHomes(const PanelLayout& panels, const std::function<int(const PanelExtent&)>& home_of) {
  const auto add = [&](const PanelName& name, int number) {
    Home& home = homes_[number];
    places_[name] = {number, home.bytes};
    home.names.push_back(name);
    home.bytes += Arena::rounded(packed_bytes(panels.tiles(), panels.form(), name));
  };
  // Positions run as tiles do. Tiles that coincide have both orders, unless antisymmetry makes one of the other.
  const bool both = panels.form() == Form::spin_adapted;
  const auto add_orders = [&](PanelName name, int home) {
    const std::size_t first = name.kind == PanelKind::left ? 1 : name.kind == PanelKind::right ? 0 : 2;
    const int one = name.tiles[first], other = name.tiles[first + 1];
    for (const bool swapped : {false, true}) {
      name.swapped = swapped;
      if (swapped ? one > other || (both && one == other) : one <= other) add(name, home);
    }
  };
  panels.visit([&](const PanelKey& key, const PanelExtent& extent) {
    const int home = home_of(extent);
    if (home < 0) return;
    add_orders(name_of(key, key.side), home);
    // Either side reads its part of a right panel.
    if (key.kind == PanelKey::Kind::right && panels.two_sided()) add_orders(name_of(key, Side::left), home);
  });
}

std::optional<PanelHomes::Place> PanelHomes::find(const PanelName& name) const {
  const auto it = places_.find(name);
  return it == places_.end() ? std::nullopt : std::optional(it->second);
}

const std::vector<PanelName>& PanelHomes::at(int home) const {
  static const std::vector<PanelName> none;
  const auto it = homes_.find(home);
  return it == homes_.end() ? none : it->second.names;
}

std::int64_t PanelHomes::bytes(int home) const {
  const auto it = homes_.find(home);
  return it == homes_.end() ? 0 : it->second.bytes;
}

}  // namespace trifuse::gpu
