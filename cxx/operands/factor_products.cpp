#include "cxx/operands/factor_products.hpp"

namespace trifuse {

namespace {

/// Returns the contracted index of a left or right panel.
ContractedIndex contracted_of(const TileSpace& space, SpinFormulation formulation, const PanelKey& key) {
  const PanelTiles tiles{key.tiles[0], key.tiles[1], key.tiles[2]};
  ContractedIndex contracted{};
  if (key.kind == PanelKind::left) {
    left_contracted_index(space, formulation, tiles, contracted);
  } else {
    right_contracted_index(space, formulation, tiles, contracted);
  }
  return contracted;
}

}

bool made_from_factors(std::span<const DisconnectedSet> sets, const PanelKey& key) {
  if (key.kind == PanelKind::vvoo) return sets[key.set].vvoo == VvooTensor::v2;
  return key.kind == PanelKind::left || key.kind == PanelKind::right;
}

PanelFactorRows factor_rows(const TileSpace& space, SpinFormulation formulation, const PanelKey& key) {
  const auto size = [&](std::size_t n) { return space[key.tiles[n]].size; };
  if (key.kind == PanelKind::vvoo) return {{size(2), size(3), size(0)}, size(1)};
  const ContractedExtent extent = contracted_extent(space, contracted_of(space, formulation, key));
  if (key.kind == PanelKind::left) return {{size(1), size(2), size(0)}, extent.holes};
  return {{size(2), size(0), size(1)}, extent.particles};
}

std::vector<FactorProduct> factor_products(const TileSpace& space, SpinFormulation formulation, const PanelKey& key) {
  if (factor_rows(space, formulation, key).length == 0) return {};
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  // Restricted spaces have the factors of alpha orbitals only.
  const auto ov = [&](int hole, int particle) {
    return PanelKey::factors_ov(space[hole].partner, space[particle].partner);
  };
  const auto same_spin = [&](int one, int other) { return space[one].spin() == space[other].spin(); };
  std::vector<FactorProduct> products;
  // Panels conserve spin. If one pair of indices has one spin, the other pair has one, too.
  if (key.kind == PanelKind::vvoo) {  // rows [h,h',p] over p'
    const auto [p, pp, h, hh] = key.tiles;
    if (adapted || same_spin(p, h)) products.push_back({ov(h, p), ov(hh, pp), +1.0, 0, 2, 1});
    if (!adapted && same_spin(p, hh)) products.push_back({ov(hh, p), ov(h, pp), -1.0, 1, 2, 0});
    return products;
  }
  const int irrep = contracted_of(space, formulation, key).irrep;
  if (key.kind == PanelKind::left) {  // rows [h,h',p] over l
    const auto [p, h, hh, unused] = key.tiles;
    const auto oo = [&](int hole) { return PanelKey::factors_oo(space[hole].partner, irrep); };
    if (!adapted && same_spin(p, hh)) products.push_back({ov(hh, p), oo(h), +1.0, 1, 2, 0});
    if (adapted || same_spin(p, h)) products.push_back({ov(h, p), oo(hh), -1.0, 0, 2, 1});
    return products;
  }
  const auto [p, pp, h, unused] = key.tiles;  // rows [h,p,p'] over d
  const auto vv = [&](int particle) { return PanelKey::factors_vv(space[particle].partner, irrep); };
  if (!adapted && same_spin(p, h)) products.push_back({ov(h, p), vv(pp), +1.0, 0, 1, 2});
  if (adapted || same_spin(pp, h)) products.push_back({ov(h, pp), vv(p), adapted ? +1.0 : -1.0, 0, 2, 1});
  return products;
}

}
