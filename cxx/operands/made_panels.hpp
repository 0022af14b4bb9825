#pragma once

#include <cstdint>
#include <span>

#include "cxx/operands/cached_panels.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

class PanelStore;

/// The panels that a layout makes from factors: left and right panels, and vvoo blocks of integrals. A panel is made
/// when it is acquired: BLAS multiplies slabs of factors to the integrals of its rows, and the amplitudes are copied.
/// See CachedPanels for the memory of the panels. The elements have the same bits each time. Any thread may call any
/// function.
class MadePanels {
 public:
  /// `store` has the slabs and the amplitudes, and must outlive this object. `budget_bytes`: limit for the made panels,
  /// see CachedPanels.
  MadePanels(const PanelStore& store, std::int64_t budget_bytes);

  /// Returns the whole rows of a panel that the layout of the store makes. `vector_margin` zeros follow the panel.
  /// Passes on exceptions of `PanelStore::acquire_stored`.
  PanelGuard acquire(const PanelKey& key);
  /// Returns true if a panel is in the cache or is being made.
  bool contains(const PanelKey& key) const { return cache_.contains(number_of(key)); }
  PanelTraffic traffic() const { return cache_.traffic(); }

 private:
  /// Returns the number of a panel in the cache. Both sides read one right panel.
  std::int64_t number_of(const PanelKey& key) const {
    const bool left_side = key.kind == PanelKind::left && key.side == Side::left;
    return 4 * layout_.number_of(key) + (left_side ? 3 : static_cast<std::int64_t>(key.kind));
  }
  /// Makes the rows of a left or right panel.
  void make_rows(const PanelKey& key, std::span<double> rows) const;
  /// Copies the amplitudes of the side of `key` to the rows, `length` numbers to each row.
  void copy_amplitudes(const PanelKey& key, std::int64_t length, double* rows) const;
  /// Computes the part of the rows that is made from factors. `to`: this part of the first row. `stride`: distance
  /// between rows, in doubles.
  void multiply_factors(const PanelKey& key, double* to, std::int64_t stride) const;

  const PanelStore& store_;
  const PanelLayout& layout_;
  CachedPanels cache_;
};

}
