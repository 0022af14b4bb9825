#include "cxx/operands/factor_products.hpp"

namespace trifuse {

namespace {

/// The contracted index of a right panel. Only its particles have factors.
ContractedIndex contracted_of(const TileSpace& space, SpinFormulation formulation, const PanelKey& right) {
  ContractedIndex contracted{};
  right_contracted_index(space, formulation, {right.tiles[0], right.tiles[1], right.tiles[2]}, contracted);
  return contracted;
}

}  // namespace

bool made_from_factors(const Method& method, const PanelKey& key) {
  return key.kind == PanelKind::right || (key.kind == PanelKind::vvoo && method.sets()[key.set].vvoo == VvooFactor::v2);
}

FactorRows factor_rows(const TileSpace& space, SpinFormulation formulation, const PanelKey& key) {
  const auto size = [&](std::size_t n) { return space[key.tiles[n]].size; };
  if (key.kind == PanelKind::vvoo) return {{size(2), size(3), size(0)}, size(1)};
  const ContractedIndex d = contracted_of(space, formulation, key);
  return {{size(2), size(0), size(1)}, contracted_extent(space, d).particles};
}

std::vector<FactorProduct> factor_products(const TileSpace& space, SpinFormulation formulation, const PanelKey& key) {
  if (factor_rows(space, formulation, key).length == 0) return {};
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  const auto [p, pp, h, hh] = key.tiles;
  // Restricted spaces have the factors of alpha orbitals only.
  const auto ov = [&](int hole, int particle) {
    return PanelKey::factors_ov(space[hole].partner, space[particle].partner);
  };
  const auto same_spin = [&](int one, int other) { return space[one].spin() == space[other].spin(); };
  std::vector<FactorProduct> products;
  // Panels conserve spin. If p has the spin of one hole, p' or d has the spin of the other index.
  if (key.kind == PanelKind::vvoo) {  // rows [h,h',p] over p'
    if (adapted || same_spin(p, h)) products.push_back({ov(h, p), ov(hh, pp), +1.0, 0, 2, 1});
    if (!adapted && same_spin(p, hh)) products.push_back({ov(hh, p), ov(h, pp), -1.0, 1, 2, 0});
    return products;
  }
  const int irrep = contracted_of(space, formulation, key).irrep;  // rows [h,p,p'] over d
  const auto vv = [&](int particle) { return PanelKey::factors_vv(space[particle].partner, irrep); };
  if (!adapted && same_spin(p, h)) products.push_back({ov(h, p), vv(pp), +1.0, 0, 1, 2});
  if (adapted || same_spin(pp, h)) products.push_back({ov(h, pp), vv(p), adapted ? +1.0 : -1.0, 0, 2, 1});
  return products;
}

}  // namespace trifuse
