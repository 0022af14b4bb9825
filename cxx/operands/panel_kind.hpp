#pragma once

#include <cstddef>
#include <cstdint>

namespace trifuse {

/// The kinds of panels. Shapes are those in host memory; x is the contracted index.
enum class PanelKind : std::uint8_t {
  left,        ///< [h, h', p, x]: left operand of products
  right,       ///< [h, p, p', x]: right operand of products
  vvoo,        ///< [h, h', p, p']: vvoo block of a set
  factors_vv,  ///< [p, Q, d]: slab of factors of integrals; Q is an auxiliary function, d a particle of one irrep
  factors_ov,  ///< [h, p, Q]: slab of factors of integrals
  factors_oo,  ///< [h, l, Q]: slab of factors of integrals; l is a hole of one irrep
};

/// Returns true for slabs of factors, from which panels are made.
constexpr bool is_slab(PanelKind kind) {
  return kind == PanelKind::factors_vv || kind == PanelKind::factors_ov || kind == PanelKind::factors_oo;
}

/// Returns the position in PanelKey::tiles of the first of the two indices of one kind. Their tiles ascend. They are h
/// and h' of a left panel and of a vvoo block, and p and p' of a right panel. The second one follows the first.
constexpr std::size_t first_ordered_index(PanelKind kind) {
  return kind == PanelKind::left ? 1 : kind == PanelKind::right ? 0 : 2;
}

}
