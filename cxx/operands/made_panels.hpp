#pragma once

#include <cstdint>
#include <span>

#include "cxx/operands/cached_panels.hpp"
#include "cxx/operands/panel_layout.hpp"

namespace trifuse {

class PanelStore;

/// The right panels of a layout with factors. A panel is made when it is acquired: BLAS multiplies slabs of factors to
/// the particles of the rows, and the holes are copied. See CachedPanels for the memory of the panels. The elements
/// have the same bits each time. Any thread may call any function.
class MadePanels {
 public:
  /// `store`: has the slabs and the holes, and must outlive this. `budget_bytes`: limit for the made panels, see
  /// CachedPanels.
  MadePanels(const PanelStore& store, std::int64_t budget_bytes);

  /// Returns the whole rows of a right panel that the layout of the store has. `vector_margin` zeros follow the panel.
  /// Passes on exceptions of `PanelStore::acquire_stored`.
  PanelGuard acquire(const PanelKey& key);
  /// True if a panel is in the cache or is being made.
  bool contains(const PanelKey& key) const { return cache_.contains(layout_.number_of(key)); }
  PanelTraffic traffic() const { return cache_.traffic(); }

 private:
  void make(const PanelKey& key, std::span<double> rows) const;
  /// Copies the holes of the side of `key` to the rows.
  void copy_holes(const PanelKey& key, std::int64_t holes, double* rows) const;
  /// Computes the particles of the rows.
  void multiply_factors(const PanelKey& key, std::int64_t particles, double* rows) const;

  const PanelStore& store_;
  const PanelLayout& layout_;
  CachedPanels cache_;
};

}  // namespace trifuse
