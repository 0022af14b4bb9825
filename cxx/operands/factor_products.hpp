#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cxx/operands/panel_layout.hpp"

/// Integrals are products of slabs of three-index factors.
namespace trifuse {

/// The part of a panel that is made from factors. It consists of rows in C order. A left panel has rows [h,h',p] over
/// the holes l, a right panel has rows [h,p,p'] over the particles d, and a vvoo block has rows [h,h',p] over p'.
struct PanelFactorRows {
  std::array<std::int64_t, 3> extent;  ///< extents of the indices that number the rows
  std::int64_t length;                 ///< length of a row
  std::int64_t count() const { return extent[0] * extent[1] * extent[2]; }
  /// Returns the distance between neighbours in the index at `position`, in rows.
  std::int64_t step(std::size_t position) const {
    return position == 0 ? extent[1] * extent[2] : position == 1 ? extent[2] : 1;
  }
};

/// A product of two slabs of factors:
///
///     row [x,y,z] over n  +=  sign * sum_Q first[x,y,Q] second[z,Q,n]
///
/// where x, y and z are the indices of the rows in any order. So each z gives one matrix product, [x y, Q] times [Q,
/// n].
struct FactorProduct {
  PanelKey first;       ///< factors_ov [x,y,Q]
  PanelKey second;      ///< factors_vv [z,Q,n], or factors_ov or factors_oo [z,n,Q]
  double sign;          ///< +1 or -1
  std::size_t x, y, z;  ///< positions of the indices in PanelFactorRows::extent
  /// Returns true if Q is the last index of the second slab.
  bool transposed() const { return second.kind != PanelKind::factors_vv; }
};

/// Returns true for the panels that are made if integrals have factors: left and right panels, and vvoo blocks of
/// integrals.
bool made_from_factors(std::span<const DisconnectedSet> sets, const PanelKey& key);
/// Returns the rows of a panel that are made from factors; their length is 0 if a left panel has no holes l, or a right
/// panel no particles d. `space`: tiles of the panels. `key`: a panel of the layout for which made_from_factors() is
/// true.
PanelFactorRows factor_rows(const TileSpace& space, SpinFormulation formulation, const PanelKey& key);
/// Returns the products whose sum is factor_rows(), as far as spins allow them; none if there are no rows. Parameters
/// are those of factor_rows().
///
///     panel         spin-adapted      spin-orbital
///     left          -(p h|h' l)       (p h'|h l) - (p h|h' l)
///     right         (p d|p' h)        (p h|p' d) - (p d|p' h)
///     vvoo block    (p h|p' h')       (p h|p' h') - (p h'|p' h)
std::vector<FactorProduct> factor_products(const TileSpace& space, SpinFormulation formulation, const PanelKey& key);

}
