#pragma once

#include <cstdint>

namespace trifuse {

/// The kinds of panels. Shapes are those in host memory; x is the contracted index.
enum class PanelKind : std::uint8_t {
  left,   ///< [h, h', p, x]: left operand of products
  right,  ///< [h, p, p', x]: right operand of products
  vvoo,   ///< [h, h', p, p']: vvoo block of a set of disconnected factors
};

}  // namespace trifuse
