#include "cxx/operands/factor_products.hpp"

namespace trifuse {

std::vector<FactorProduct> factor_products(const TileSpace& space, SpinFormulation formulation,
                                           const PanelTiles& right) {
  ContractedIndex d{};
  if (!right_contracted_index(space, formulation, right, d) || contracted_extent(space, d).particles == 0) return {};
  const int p = right[0], pp = right[1], h = right[2];
  // Restricted spaces have the factors of alpha orbitals only.
  const auto stored = [&](int tile) { return space[tile].partner; };
  const auto product = [&](int b, int q, double sign, int batched) {
    return FactorProduct{PanelKey::factors_vv(stored(b), d.irrep), PanelKey::factors_ov(stored(h), stored(q)), sign,
                         batched};
  };
  if (formulation == SpinFormulation::spin_adapted) return {product(p, pp, +1.0, 0)};
  std::vector<FactorProduct> products;
  // The panel conserves spin. If h has the spin of one particle, d has the spin of the other one.
  if (space[p].spin() == space[h].spin()) products.push_back(product(pp, p, +1.0, 1));
  if (space[pp].spin() == space[h].spin()) products.push_back(product(p, pp, -1.0, 0));
  return products;
}

}  // namespace trifuse
