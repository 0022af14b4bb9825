#include "cxx/cuda/schedule/panel_homes.hpp"

#include "cxx/cuda/schedule/arena.hpp"

namespace trifuse::gpu {

PanelHomes::PanelHomes(const PanelStore& panels, SpinFormulation formulation,
                       const std::function<int(const PanelStore::Place&)>& home_of) {
  const auto add = [&](const PanelName& name, int number) {
    Home& home = homes_[number];
    places_[name] = {number, home.bytes};
    home.names.push_back(name);
    home.bytes += Arena::rounded(packed_bytes(panels.tiles(), formulation, name));
  };
  // Positions run as tiles do. Tiles that coincide have both orders, unless antisymmetry makes one of the other.
  const bool both = formulation == SpinFormulation::spin_adapted;
  const auto add_orders = [&](PanelName name, int first, int second, const PanelStore::Place& place) {
    const int home = home_of(place);
    if (home < 0) return;
    for (const bool swapped : {false, true}) {
      name.swapped = swapped;
      if (swapped ? first > second || (both && first == second) : first <= second) add(name, home);
    }
  };
  const std::vector<Side> sides = panels.two_sided() ? std::vector{Side::right, Side::left} : std::vector{Side::right};
  panels.visit({
      [&](const PanelTiles& t, Side side, const PanelStore::Place& place) {
        add_orders({PanelKind::left, side, 0, false, {t[0], t[1], t[2], 0}}, t[1], t[2], place);
      },
      [&](const PanelTiles& t, const PanelStore::Place& place) {
        for (const Side side : sides) {
          add_orders({PanelKind::right, side, 0, false, {t[0], t[1], t[2], 0}}, t[0], t[1], place);
        }
      },
      [&](std::size_t factors, const std::array<int, 4>& t, const PanelStore::Place& place) {
        add_orders({PanelKind::pairs, Side::right, static_cast<std::uint8_t>(factors), false, t}, t[2], t[3], place);
      },
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
