#pragma once

#include <vector>

#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

/// A product of two factor slabs, a part of the particles d of a right panel. The panel has rows [h,p,p'] over d. One
/// of its two particles, b, is the first index of the slab `vv`; the other one, q, is the second index of the slab
/// `ov`:
///
///     row [h,p,p'] over d  +=  sign * sum_Q ov[h,q,Q] vv[b,Q,d]
///
/// So each orbital b gives one matrix product, [h q, Q] times [Q, d].
struct FactorProduct {
  PanelKey vv;  ///< [b,Q,d]
  PanelKey ov;  ///< [h,q,Q]
  double sign;  ///< +1 or -1
  int batched;  ///< which particle of the panel b is: 0 for b = p, q = p'; 1 for b = p', q = p
};

/// The products whose sum is the part of the particles of a right panel: one in the spin-adapted formulation, (p d|p'
/// h); one or two in the spin-orbital formulation, (p h|p' d) - (p d|p' h), as spins allow. Empty if the panel has no
/// particles d. `space`: tiles of the panels. `right`: tiles {p, p', h} of a panel that the layout has.
std::vector<FactorProduct> factor_products(const TileSpace& space, SpinFormulation formulation,
                                           const PanelTiles& right);

}  // namespace trifuse
